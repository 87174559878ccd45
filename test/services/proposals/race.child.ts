// A process that serves proposals over HTTP. Takes the database's address; says its own and a token
// as JSON, and `done`, after a line of stdin, when nothing is in its hands any more.

import { once } from 'node:events';
import { pino } from 'pino';
import { openDatabase } from '../../../persistence/database.ts';
import { createApp } from '../../../services/http/app.ts';
import { listen } from '../../../services/http/listener.ts';
import { throwawayKeys } from '../../../services/http/own-keys.ts';
import { proposalRoutes } from '../../../services/proposals/routes.ts';
import { toolsWith, watched } from '../../support/plans.ts';

const [url = ''] = process.argv.slice(2);
const database = await openDatabase({ url, applicationName: 'racer' });
const tools = toolsWith();
const executor = watched(database, tools);
const routes = proposalRoutes({
  ...{ database, tools, executor },
  ...{ fourEyes: 'never', previewMs: 1000 },
});
const keys = await throwawayKeys();
const app = createApp({
  log: pino({ enabled: false }),
  readiness: { phase: 'ready', state: async () => 'ready', isAway: async () => false },
  stopping: new AbortController().signal,
  identify: keys.identify,
  served: () => ({ routes, database }),
});
const http = await listen(app, { host: '127.0.0.1', port: 0 });
const token = await keys.sign({ sub: 'grace', scopes: ['proposals:execute'], seconds: 600 });
const say = (line: string) => process.stdout.write(`${line}\n`);
say(JSON.stringify({ url: http.url, token }));
await once(process.stdin, 'data');
await executor.stop(60_000);
say('done');
await http.close(0);
await database.close();
process.exit();
