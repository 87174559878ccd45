// What is left of a stream when it has ended, and what becomes of one whose client does not read,
// has gone before it began, or says strange things.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Request, Response } from 'express';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../../services/http/app.ts';
import { listen } from '../../../services/http/listener.ts';
import { eventRoute, type StreamEvent } from '../../../services/http/route.ts';
import { sendEvents, streamSignal } from '../../../services/http/sse.ts';
import { keys, readiness, tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';
import { signal as promised } from '../../support/signal.ts';

const database = useOpened();
const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A client that sends its request and reads nothing. */
async function deaf(url: string, lines: readonly string[]): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).pause();
  await once(socket, 'connect');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket;
}

/** A server that answers everything with one stream. */
async function streaming(
  events: (response: Response, signal: AbortSignal) => AsyncIterable<StreamEvent>,
) {
  const sent = promised();
  const begun = promised<Response>();
  const errors: unknown[] = [];
  const server = createServer((request, raw) => {
    const response = raw as unknown as Response;
    response.on('error', (error) => errors.push(error));
    begun.give(response);
    const signal = streamSignal(response, never);
    const options = { signal, isStopping: () => false };
    sendEvents(request as Request, response, events(response, signal), options).then(sent.give);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, sent: sent.given, begun: begun.given, errors };
}

const tick = (n: number): StreamEvent => ({ event: 'ticked', data: { n, text: 'x'.repeat(1000) } });

/** Events until the client has not taken one. */
async function* untilItWaits(response: Response) {
  for (let n = 0; response.writableLength === 0; n += 1) {
    yield tick(n);
    await turn();
  }
}

/** No event, until it is over. */
const quiet = (_: Response, signal: AbortSignal): AsyncIterable<StreamEvent> => ({
  [Symbol.asyncIterator]: () => ({
    async next() {
      await once(signal, 'abort');
      return { done: true, value: undefined };
    },
  }),
});

const asking = ['GET / HTTP/1.1', 'Host: localhost'];

describe('a stream that has ended', () => {
  it('sends no sign of life behind its end, though the client has not read that', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { url, sent, begun, errors } = await streaming(untilItWaits);
    await deaf(url, asking);
    await sent;
    const response = await begun;
    expect([response.writableEnded, response.closed]).toEqual([true, false]);
    vi.advanceTimersByTime(60_000);
    await turn();
    expect(errors).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends signs of life until then, and none once the client has gone', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { url, begun } = await streaming(quiet);
    const socket = await deaf(url, asking);
    const written = vi.spyOn(await begun, 'write');
    vi.advanceTimersByTime(15_000);
    expect(written.mock.calls).toEqual([[':\n\n']]);
    socket.destroy();
    await once(await begun, 'close');
    vi.advanceTimersByTime(60_000);
    expect(written).toHaveBeenCalledTimes(1);
  });

  it('has its signal aborted, and nothing left on what lives longer', async () => {
    const stopping = new AbortController();
    const added = vi.spyOn(stopping.signal, 'addEventListener');
    const removed = vi.spyOn(stopping.signal, 'removeEventListener');
    const [opened, over] = [promised<AbortSignal>(), promised()];
    const { url } = await served({
      stopping: stopping.signal,
      open: opened.give,
      onOver: over.give,
    });
    await (await fetch(`${url}/v1/ticks`, { headers: await authorized() })).text();
    await over.given;
    expect((await opened.given).aborted).toBe(true);
    expect(added).toHaveBeenCalled();
    expect(removed.mock.calls).toEqual(added.mock.calls);
  });
});

describe('a stream', () => {
  it('ends with the token that it was asked for by', async () => {
    const expiresAt = Date.now() + 1;
    const { url } = await served({ open: () => undefined, isEndless: true, expiresAt });
    const response = await fetch(`${url}/v1/ticks`, { headers: await authorized() });
    expect(await response.text()).toMatch(/^retry:/);
  });
});

const authorized = async () => ({ authorization: `Bearer ${await tokenOf('ada')}` });

interface Given {
  readonly stopping?: AbortSignal;
  readonly open: (signal: AbortSignal) => void;
  /** Called before it is known who asks. */
  readonly before?: () => Promise<unknown>;
  readonly onOver?: () => void;
  /** It goes on behind its event. */
  readonly isEndless?: boolean;
  readonly expiresAt?: number;
}

/** The frame with one stream of one event. */
async function served(given: Given) {
  const { stopping = never, open, before, onOver, isEndless = false } = given;
  const route = eventRoute({
    path: '/v1/ticks',
    scope: 'metrics:read',
    summary: 'Tick',
    events: { ticked: z.strictObject({ n: z.int() }) },
  }).handle(async ({ signal }) => {
    open(signal);
    return (async function* () {
      yield { event: 'ticked' as const, data: { n: 1 } };
      if (isEndless) await once(signal, 'abort');
    })();
  });
  const app = createApp({
    log: pino({ enabled: false }),
    readiness,
    stopping,
    async identify(authorization) {
      await before?.();
      const identified = await keys.identify(authorization);
      return {
        ...identified,
        ...(given.expiresAt !== undefined && { expiresAt: given.expiresAt }),
      };
    },
    answered: () => onOver?.(),
    served: () => ({ routes: [route], database: database() }),
  });
  const http = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => http.close(0));
  return http;
}

describe('a client', () => {
  it('that goes before it is known who it is leaves nothing running', async () => {
    const [asked, over] = [promised(), promised()];
    const opened = promised<AbortSignal>();
    const before = async () => {
      asked.give();
      await over.given;
    };
    const { url } = await served({ open: opened.give, before, onOver: over.give });
    const { authorization } = await authorized();
    const lines = ['GET /v1/ticks HTTP/1.1', 'Host: localhost'];
    const socket = await deaf(url, [...lines, `Authorization: ${authorization}`]);
    await asked.given;
    socket.destroy();
    expect((await opened.given).aborted).toBe(true);
  });

  it('may call this machine what it likes', async () => {
    const { url } = await served({ open: () => undefined });
    const { authorization } = await authorized();
    const lines = ['GET /v1/ticks HTTP/1.1', 'Host: a b%', 'Connection: close'];
    const socket = await deaf(url, [...lines, `Authorization: ${authorization}`]);
    const heard: string[] = [];
    socket.setEncoding('utf8').on('data', (text: string) => heard.push(text));
    socket.resume();
    await once(socket, 'close');
    expect(heard.join('')).toMatch(/^HTTP\/1.1 200 .*\{"n":1\}/s);
  });

  it('that asks for the head alone gets it, and the next answer behind it', async () => {
    const { url } = await served({ open: () => undefined, isEndless: true });
    const { authorization } = await authorized();
    const asked = (method: string, path: string) =>
      [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: ${authorization}`].join(
        '\r\n',
      );
    const socket = await deaf(url, [`${asked('HEAD', '/v1/ticks')}\r\n`, asked('GET', '/healthz')]);
    const heard: string[] = [];
    const healthy = promised();
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard.push(text);
      if (heard.join('').includes('"ok"')) healthy.give();
    });
    socket.resume();
    await healthy.given;
    expect(heard.join('')).toMatch(/text\/event-stream.*"ok"/s);
  });
});
