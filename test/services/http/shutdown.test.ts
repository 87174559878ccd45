// What a stop does to what is under way: slow requests, streams, and connections that are kept.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { transaction } from '../../../persistence/transaction.ts';
import { createApp } from '../../../services/http/app.ts';
import { listen } from '../../../services/http/listener.ts';
import { eventRoute, route } from '../../../services/http/route.ts';
import { readEvents } from '../../support/event-stream.ts';
import { keys, readiness, tokenOf } from '../../support/open-api.ts';
import { opened, useOpened } from '../../support/opened.ts';
import { spawnServer } from '../../support/server-process.ts';
import { signal } from '../../support/signal.ts';

const database = useOpened();

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return text;
}

describe('a stop', () => {
  it('ends streams at once, lets a slow request end, and closes what is idle', async () => {
    const [begun, go] = [signal(), signal()];
    const slow = route({
      method: 'get',
      path: '/v1/slow',
      scope: 'metrics:read',
      summary: 'Wait',
      answers: { 200: z.string() },
    }).handle(async () => {
      begun.give();
      await go.given;
      return { status: 200, body: 'slow' };
    });
    const ticks = eventRoute({
      path: '/v1/ticks',
      scope: 'metrics:read',
      summary: 'Never tick',
      events: { ticked: z.int() },
    }).handle(async ({ signal: gone }) =>
      (async function* () {
        yield { event: 'ticked' as const, data: 1 };
        await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
      })(),
    );
    const stopping = new AbortController();
    const app = createApp({
      log: pino({ enabled: false }),
      readiness,
      identify: keys.identify,
      stopping: stopping.signal,
      served: () => ({ routes: [slow, ticks], database: database() }),
    });
    const http = await listen(app, { host: '127.0.0.1', port: 0 });
    onTestFinished(() => http.close(0));
    const headers = { authorization: `Bearer ${await tokenOf('ada')}` };
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const ask = (path: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        request(http.url + path, { headers, agent }, resolve)
          .on('error', reject)
          .end();
      });
    // A connection that is kept without a request on it.
    await textOf(await ask('/healthz'));
    const stream = readEvents(ticks, await fetch(`${http.url}/v1/ticks`, { headers }));
    expect(await stream.next()).toMatchObject({ event: 'ticked' });
    const answer = ask('/v1/slow');
    await begun.given;

    stopping.abort();
    expect(await stream.next()).toBeUndefined();
    const closed = http.close(60_000);
    await expect(fetch(`${http.url}/healthz`)).rejects.toThrow();
    go.give();
    expect(await textOf(await answer)).toBe('"slow"');
    // Within the grace, and not at its end.
    await closed;
  });

  it('cuts what is left when it is hurried', async () => {
    const begun = signal();
    const hung = route({
      method: 'get',
      path: '/v1/hung',
      scope: 'metrics:read',
      summary: 'Wait for ever',
      answers: { 200: z.string() },
    }).handle(async ({ signal: gone }) => {
      begun.give();
      await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
      return { status: 200, body: 'never' };
    });
    const app = createApp({
      log: pino({ enabled: false }),
      readiness,
      identify: keys.identify,
      stopping: new AbortController().signal,
      served: () => ({ routes: [hung], database: database() }),
    });
    const http = await listen(app, { host: '127.0.0.1', port: 0 });
    const headers = { authorization: `Bearer ${await tokenOf('ada')}` };
    const answer = fetch(`${http.url}/v1/hung`, { headers });
    await begun.given;
    const closed = http.close(60_000);
    http.hurry();
    await expect(answer).rejects.toThrow();
    await closed;
  });

  it('of the whole service lets a slow request end, and exits with 0', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fencepost-shutdown-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const server = spawnServer(folder, {
      DATABASE_URL: database().url,
      SMTP_URL: 'smtp://127.0.0.1:9',
      SHUTDOWN_GRACE_MS: '60000',
    });
    onTestFinished(async () => {
      server.kill('SIGKILL');
      await server.ended;
    });
    const url = await server.url();
    const token = (await readFile(join(folder, '.fencepost/token'), 'utf8')).trim();
    const holder = await opened({ url: database().url, connections: 1 });
    let answer: Promise<Response> | undefined;
    await transaction(holder, async (tx) => {
      await sql`lock table fencepost.delivery in share row exclusive mode`.execute(tx);
      answer = fetch(`${url}/v1/deliveries`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ channel: 'email', to: 'a@example.com', subject: '', body: '' }),
      });
      // The request waits for the table: what it needs is taken, and will be given back.
      let waits = false;
      while (!waits) {
        const { rows } = await sql<{ waits: boolean }>`select exists (select from pg_locks
          where not granted and relation = 'fencepost.delivery'::regclass) as waits`.execute(tx);
        waits = rows[0]?.waits ?? false;
      }
      server.kill('SIGTERM');
      await server.logged('stopping');
    });
    expect((await answer)?.status).toBe(202);
    expect(await server.ended).toBe(0);
    expect(server.output()).not.toContain(token);
  });
});
