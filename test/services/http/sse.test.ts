import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { problem, problemKind } from '../../../services/http/problem.ts';
import { eventRoute } from '../../../services/http/route.ts';
import { readEvents } from '../../support/event-stream.ts';
import { openApi, tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';
import { signal as promised } from '../../support/signal.ts';

const database = useOpened();
const gone = problemKind('gone', 410, 'It is gone');

interface Given {
  readonly event: 'ticked';
  readonly data: { readonly n: number };
  readonly id?: string;
}

/** A stream whose events the test gives. */
function stage() {
  const waiting: Given[] = [];
  let wake = () => {};
  const closed = promised();
  const asked: (string | undefined)[] = [];
  const route = eventRoute({
    path: '/v1/ticks',
    scope: 'metrics:read',
    summary: 'Tick',
    query: z.strictObject({ gone: z.string().optional() }),
    events: { ticked: z.strictObject({ n: z.int() }) },
    problems: [gone],
  }).handle(async ({ query, signal, lastEventId }) => {
    if (query.gone !== undefined) return problem(gone, 'It was here.');
    asked.push(lastEventId);
    return (async function* () {
      try {
        while (!signal.aborted) {
          yield* waiting.splice(0);
          await new Promise<void>((resolve) => {
            wake = resolve;
            signal.addEventListener('abort', () => resolve(), { once: true });
            if (waiting.length > 0 || signal.aborted) resolve();
          });
        }
      } finally {
        closed.give();
      }
    })();
  });
  return {
    route,
    asked,
    closed: closed.given,
    give(...events: readonly Given[]) {
      waiting.push(...events);
      wake();
    },
  };
}

async function open(headers: Readonly<Record<string, string>> = {}) {
  const staged = stage();
  const stopping = new AbortController();
  const leaving = new AbortController();
  const api = await openApi({
    database: database(),
    routes: [staged.route],
    stopping: stopping.signal,
  });
  const response = await fetch(`${api.url}/v1/ticks`, {
    headers: { authorization: `Bearer ${await tokenOf('ada')}`, ...headers },
    signal: leaving.signal,
  });
  return { ...staged, api, stopping, leaving, response, ...readEvents(staged.route, response) };
}

describe('a stream of events', () => {
  it('gives each event when it comes, with its id and no other', async () => {
    const { give, next, response, retries, stopping } = await open();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    give({ event: 'ticked', data: { n: 1 }, id: '1' }, { event: 'ticked', data: { n: 2 } });
    expect(await next()).toEqual({ event: 'ticked', data: { n: 1 }, id: '1' });
    expect(await next()).toEqual({ event: 'ticked', data: { n: 2 }, id: undefined });
    give({ event: 'ticked', data: { n: 3 }, id: '3' });
    expect(await next()).toEqual({ event: 'ticked', data: { n: 3 }, id: '3' });
    expect(retries).toEqual([2000]);
    stopping.abort();
  });

  it('ends with a time to come back when the service stops', async () => {
    const { next, stopping, retries, closed } = await open();
    stopping.abort();
    expect(await next()).toBeUndefined();
    await closed;
    expect(retries).toHaveLength(2);
    expect(retries[1]).toBeGreaterThanOrEqual(2000);
  });

  it('tells its handler when the client is gone', async () => {
    const { leaving, closed } = await open();
    leaving.abort();
    await closed;
  });

  it('goes on behind what the client saw last, if that can be an id', async () => {
    const { asked, stopping, api } = await open({ 'last-event-id': '42' });
    expect(asked).toEqual(['42']);
    stopping.abort();
    const bad = await api.get('/v1/ticks', { headers: { 'last-event-id': 'a b' } });
    expect([bad.status, bad.body['code']]).toEqual([400, 'invalid_headers']);
  });

  it('is a problem where there is nothing to follow, and has no body for HEAD', async () => {
    const { api, stopping } = await open();
    const { status, body } = await api.get('/v1/ticks?gone=yes');
    expect([status, body['code']]).toEqual([410, 'gone']);
    stopping.abort();
    const headers = { authorization: `Bearer ${await tokenOf('ada')}` };
    const head = await fetch(`${api.url}/v1/ticks`, { method: 'HEAD', headers });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('ends, cut off, when its handler breaks', async () => {
    const route = eventRoute({
      path: '/v1/broken',
      scope: 'metrics:read',
      summary: 'Break',
      events: { ticked: z.strictObject({ n: z.int() }) },
    }).handle(async () =>
      (async function* () {
        yield { event: 'ticked' as const, data: { n: 1 } };
        throw new Error('secret of the inside');
      })(),
    );
    const { url, get } = await openApi({ database: database(), routes: [route] });
    const response = await fetch(`${url}/v1/broken`, {
      headers: { authorization: `Bearer ${await tokenOf('ada')}` },
    });
    const text = await response.text().catch(() => 'cut');
    expect(text).not.toContain('secret');
    expect((await get('/healthz')).status).toBe(200);
  });
});
