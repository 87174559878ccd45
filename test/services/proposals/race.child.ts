// A process that asks many times at once for one plan to be executed. Takes the database's address,
// the plan's id and how often; begins at a line of stdin, says as JSON what it was told, and `done`
// when nothing is in its hands any more.

import { once } from 'node:events';
import { openDatabase } from '../../../persistence/database.ts';
import { toolsWith, watched } from '../../support/plans.ts';

const [url = '', id = '', times = ''] = process.argv.slice(2);
const database = await openDatabase({ url, applicationName: 'racer' });
const executor = watched(database, toolsWith());
const say = (line: string) => process.stdout.write(`${line}\n`);
say('ready');
await once(process.stdin, 'data');
const asked = Array.from({ length: Number(times) }, () => executor.execute(id, 'grace'));
say(JSON.stringify(await Promise.all(asked)));
await executor.stop(60_000);
say('done');
await database.close();
process.exit();
