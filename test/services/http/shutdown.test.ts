// What a stop does to what is under way: slow requests, streams, and connections that are kept.

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../../services/http/app.ts';
import { listen } from '../../../services/http/listener.ts';
import { eventRoute, route } from '../../../services/http/route.ts';
import { readEvents } from '../../support/event-stream.ts';
import { keys, readiness, tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';
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

  it('of the whole service ends streams, lets a slow request end, and exits with 0', async () => {
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
    const authorization = `Bearer ${token}`;
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());

    // A connection that is kept without a request on it.
    const idle = request(`${url}/healthz`, { agent }).end();
    const [healthy] = (await once(idle, 'response')) as [IncomingMessage];
    const idleEnded = once(healthy.socket, 'close');
    await textOf(healthy);

    const stream = request(`${url}/v1/machines/outbox/events`, {
      headers: { authorization },
    }).end();
    const [events] = (await once(stream, 'response')) as [IncomingMessage];
    expect(events.statusCode).toBe(200);
    const streamed = textOf(events);

    const email = { channel: 'email', to: 'a@example.com', subject: '', body: '' };
    // The server says 100 when it has the request in hand; the body is still to come.
    const slow = request(`${url}/v1/deliveries`, {
      method: 'POST',
      agent,
      headers: { authorization, 'content-type': 'application/json', expect: '100-continue' },
    });
    const answered = once(slow, 'response');
    slow.flushHeaders();
    await once(slow, 'continue');

    server.kill('SIGTERM');
    await server.logged('stopping');
    await streamed;
    slow.end(JSON.stringify(email));
    const [answer] = (await answered) as [IncomingMessage];
    expect(answer.statusCode).toBe(202);
    await textOf(answer);
    await idleEnded;
    expect(await server.ended).toBe(0);
    expect(server.output()).not.toContain(token);
  });
});
