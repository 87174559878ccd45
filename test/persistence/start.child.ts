/**
 * A process that starts as the service does. Takes the database's address; says `ready`, and at the
 * next line brings the schema up to date and says as JSON what it did. With `dies` as its second
 * argument it stops in the middle of schema work, under the lock, after saying `working`.
 */
import { once } from 'node:events';
import { sql } from 'kysely';
import { machines } from '../../machines/all.ts';
import { openDatabase } from '../../persistence/database.ts';
import { installMachines } from '../../persistence/definitions.ts';
import { keepPartitions } from '../../persistence/journal.ts';
import { maintain } from '../../persistence/maintenance.ts';
import { migrate } from '../../persistence/migrate.ts';

const [url = '', how] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
say('ready');
await once(process.stdin, 'data');
const database = await openDatabase({ url, connections: 2 });
if (how === 'dies') {
  await maintain(database, async (tx) => {
    await sql`create table fencepost.half_done ()`.execute(tx);
    say('working');
    await once(process.stdin, 'data');
  });
}
const migrations = await migrate(database);
const installed = await installMachines(database, machines);
const partitions = await keepPartitions(database);
say(JSON.stringify({ migrations, changes: installed.map(({ change }) => change), partitions }));
await database.close();
process.exit();
