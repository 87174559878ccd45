// A process that carries out one plan and goes: for killing it at any message between it and the
// database. Takes the database's address, what to do (`execute` or `preview`) and the plan's id;
// says what it was told, as JSON, then how the run ended here.
//
// - The plan was made before, by `planned`, over another connection.

import { openDatabase } from '../../persistence/database.ts';
import { preview } from '../../services/proposals/preview.ts';
import { scenarioTools } from './plan-scenarios.ts';
import { watched } from './plans.ts';

const [url = '', what = 'execute', id = ''] = process.argv.slice(2);
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
const database = await openDatabase({ url, applicationName: 'plan', connections: 2 });
if (what === 'preview') {
  const options = { database, tools: scenarioTools, previewMs: 5000 };
  say(await preview(options, { id, actor: 'grace' }));
} else {
  const executor = watched(database, scenarioTools);
  const told = await executor.execute(id, 'grace');
  say(told);
  if (told.outcome === 'started') say(await executor.ended(id));
  await executor.stop(10_000);
}
await database.close();
process.exit();
