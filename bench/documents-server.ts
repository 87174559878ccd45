// A process of the benchmarks: a server of saves, either this service's documents with all that a
// request goes through, or nothing but node:http and one conditional UPDATE. It says its port and a
// token, and ends with its input.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { pino } from 'pino';
import { openDatabase } from '../persistence/database.ts';
import { openWakeListener } from '../persistence/wake-listener.ts';
import { startAnnouncements } from '../services/documents/announcements.ts';
import { documentRoutes } from '../services/documents/routes.ts';
import { createApp } from '../services/http/app.ts';
import { listen } from '../services/http/listener.ts';
import { throwawayKeys } from '../services/http/own-keys.ts';
import { plainSave } from './plain-documents.ts';

const [which = ''] = process.argv.slice(2);
const { DATABASE_URL: url = '' } = process.env;
const connections = 16;

async function serveBare(): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  const save = async (request: IncomingMessage) => {
    const body = JSON.parse(await text(request));
    const id = request.url?.split('/').at(-1);
    const content = JSON.stringify(body.content);
    const { rows } = await pool.query({
      ...plainSave,
      values: [id, body.expectedVersion, content],
    });
    return { status: rows.length === 1 ? 200 : 409, body: { currentVersion: rows[0]?.version } };
  };
  const server = createServer(async (request, response) => {
    const { status, body } = await save(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

async function serveOurs(): Promise<[number, string]> {
  const log = pino({ level: 'error' }, pino.destination(2));
  const database = await openDatabase({ url, connections });
  const wakes = await openWakeListener(database);
  const announcements = startAnnouncements({ database, wakes, log });
  const routes = documentRoutes({ database, announcements });
  const keys = await throwawayKeys();
  const app = createApp({
    log,
    identify: keys.identify,
    readiness: { phase: 'ready', state: async () => 'ready', isAway: async () => false },
    stopping: new AbortController().signal,
    served: () => ({ routes, database }),
  });
  const http = await listen(app, { host: '127.0.0.1', port: 0 });
  const scopes = ['documents:read', 'documents:write'] as const;
  const token = await keys.sign({ sub: 'bench', scopes, seconds: 36_000 });
  return [Number(new URL(http.url).port), token];
}

const [port, token] = which === 'bare' ? [await serveBare(), ''] : await serveOurs();
process.stdout.write(`listening ${port} ${token}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
