// Requests of every kind to every route of the table: whatever is sent, the answer is one that the
// route declares, never a 5xx, and never a word of the inside.

import { request } from 'node:http';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../../services/http/app.ts';
import { type Listener, listen } from '../../../services/http/listener.ts';
import { type Route, routeName } from '../../../services/http/route.ts';
import { openMetrics } from '../../../services/metrics/metrics.ts';
import { routesOf } from '../../../services/routes.ts';
import { checkAnswer, routeAt } from '../../support/api-client.ts';
import { enqueue } from '../../support/deliveries.ts';
import { type FuzzGround, fuzzCaseOf } from '../../support/fuzz-cases.ts';
import { type FuzzedPlans, openFuzzedPlans } from '../../support/fuzzed-plans.ts';
import { listedProvider } from '../../support/listed-provider.ts';
import { keys, readiness, tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';
import { ask } from '../../support/operations.ts';

const database = useOpened();
/** The API is what strangers talk to; the rest is pages. */
const runsOf = ({ path }: Route) => (path.startsWith('/v1/') ? 80 : 15);
const inside = /\.ts:\d|node_modules|\n\s+at |select .* from|fencepost\.\w+ /i;

let http: Listener;
let token: string;
let ground: FuzzGround;
let table: readonly Route[];
let plans: FuzzedPlans;

beforeAll(async () => {
  const metrics = openMetrics({ machines: [] });
  plans = await openFuzzedPlans(database());
  const options = {
    plans: plans.plans,
    database: database(),
    sender: 'me@example.com',
    webhooks: { allowedRanges: [] },
    mailbox: true,
    provider: listedProvider,
    metrics,
    announcements: {
      watch: async (_: string, ids: readonly string[]) => ({ ids, stop: () => undefined }),
    },
  };
  table = routesOf(options, readiness);
  const app = createApp({
    // A 5xx is only known by what was logged of it.
    log: pino({ level: 'error' }),
    readiness,
    identify: keys.identify,
    stopping: new AbortController().signal,
    served: () => ({ routes: table, database: database() }),
  });
  http = await listen(app, { host: '127.0.0.1', port: 0 });
  token = await tokenOf('fuzz');
  const [delivery = ''] = await enqueue(database());
  const operation = await ask(database(), listedProvider, { action: 'reset', branch: 'busy' });
  ground = { delivery, document: await makeDocument(), operation, plans };
});
afterAll(async () => {
  await http?.close(0);
  await plans?.close();
});

/** A document of the caller's own, by the API itself. */
async function makeDocument(): Promise<string> {
  const body = JSON.stringify({ kind: 'record', name: 'a', content: { attributes: {} } });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${http.url}/v1/documents`, { method: 'POST', headers, body });
  return z.object({ id: z.string() }).parse(await answer.json()).id;
}

interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

type Body = string | undefined;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Not by fetch, which mends what is wrong with a URL. */
function send(method: string, { path, headers, body }: Sent): Promise<Answer> {
  const { port } = new URL(http.url);
  const length = body !== undefined && { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const asked = request(
      { port, host: '127.0.0.1', method, path, headers: { ...headers, ...length }, setHost: false },
      (response) => {
        let text = '';
        const type = response.headers['content-type'] ?? '';
        // A stream has no end: that it began is all there is to see.
        if (type.startsWith('text/event-stream')) {
          response.on('error', () => undefined).destroy();
          resolve({ status: response.statusCode ?? 0, type, text });
          return;
        }
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            type,
            text,
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const strange = fc.constantFrom(
  ...['', ' ', '0', '-1', '1e999', 'null', 'NaN', '[]', '__proto__', 'constructor', '../..'],
  ...['%', '%00', '%zz', '%C0%80', '%ED%A0%80', '%F0%9F%A4%A1', '%2F', '%5C', "'; --", '{}'],
);
const text = fc.oneof(strange, fc.string(), fc.string({ unit: 'binary', maxLength: 40 }));
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 3, arbitrary: fc.jsonValue() },
  fc.constantFrom<unknown>(null, true, -0, 1e308, '\u0000', '\ud800', 'x'.repeat(5000), [[[[]]]]),
);

const over = fc.dictionary(
  fc.constantFrom('to', 'data', 'x', 'body', 'content', 'name', 'saveId', 'expectedVersion'),
  value,
  { maxKeys: 3 },
);

/** A body that is right, or but for some of its members, or not at all. */
function bodyOf({ bodies = () => [{}] }: ReturnType<typeof fuzzCaseOf>): fc.Arbitrary<Body> {
  const right = fc.nat().map((n) => {
    const all = bodies();
    return all[n % all.length] ?? {};
  });
  const changed = fc.tuple(right, over).map(([base, members]) => ({ ...base, ...members }));
  const cut = right.map((body) => JSON.stringify(body).slice(0, -2));
  return fc.oneof(
    { weight: 3, arbitrary: right.map((body) => JSON.stringify(body)) },
    { weight: 3, arbitrary: changed.map((body) => JSON.stringify(body)) },
    { weight: 2, arbitrary: value.map((body) => JSON.stringify(body) ?? '') },
    cut,
    fc.constantFrom(
      undefined,
      '',
      '{"__proto__":{"x":1}}',
      '['.repeat(100_000),
      '\u0000',
      '{"a":1,"a":2}',
    ),
  );
}

const known: readonly string[] = [
  'status',
  'channel',
  'destination',
  'from',
  'to',
  'limit',
  'cursor',
];
const query = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...known), text), text), { maxLength: 3 })
  .map((pairs) => pairs.map(([name, given]) => `${encoded(name)}=${encoded(given)}`).join('&'));

/** As it is where a request line may have it, otherwise as UTF-8: also what is no UTF-16. */
const encoded = (raw: string): string =>
  /^[\x21\x24-\x2e\x30-\x3e\x40-\x7e]*$/.test(raw)
    ? raw
    : encodeURIComponent(Buffer.from(raw).toString());

const headers = fc.record(
  {
    'content-type': fc.constantFrom(
      'application/json',
      'text/plain',
      'application/json; charset=x',
      ',',
    ),
    'idempotency-key': fc.constantFrom('a', 'b', ' ', 'x'.repeat(256), '"'),
    'x-request-id': fc.constantFrom('a', '\u00fc', 'x'.repeat(500)),
    'last-event-id': fc.constantFrom('1', 'a b'),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br'),
    accept: fc.constantFrom('text/html', '*/*;q=0'),
    authorization: fc.constantFrom('Bearer', 'Bearer a.b.c', 'Basic x'),
  },
  { requiredKeys: [] },
);

/** Most requests are right in most parts: what is wrong everywhere is refused at the door. */
const rarely = fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0);
const mostly = <T>(usual: T, odd: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });

function sentTo(route: Route): fc.Arbitrary<Sent> {
  const right = fuzzCaseOf(route, ground);
  const [asked, given] = [mostly(right.query ?? '', query), mostly({}, headers)];
  const parameter = mostly(undefined, fc.oneof(fc.constant(''), text.map(encoded)));
  return fc
    .record({ parameter, query: asked, headers: given, body: bodyOf(right), isOdd: rarely })
    .map(({ parameter: odd, query: asked, headers: given, body, isOdd }) => {
      const path = route.path.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) => odd ?? right.params?.[name] ?? '',
      );
      return {
        path: asked === '' ? path : `${path}?${asked}`,
        headers: {
          host: 'localhost',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...given,
        },
        body: route.body || isOdd ? body : undefined,
      };
    });
}

function check(method: string, sent: Sent, answer: Answer): void {
  const { status, type, text: body } = answer;
  expect(status, body).toBeLessThan(500);
  expect(status).toBeGreaterThanOrEqual(200);
  // Some right answers are SQL; a wrong one never has a word of the inside.
  if (status >= 400) expect(body).not.toMatch(inside);
  // Node itself refuses what is no HTTP, without a body.
  if (type === '' && status === 400) return;
  checkAnswer(routeAt(table, method, sent.path), status, type, body);
}

describe('a route, whatever is sent to it,', () => {
  it('answers as it declares: each of the table', async () => {
    let tried = 0;
    const done = new Set<string>();
    for (const route of table) {
      const method = route.method.toUpperCase();
      const property = fc.asyncProperty(sentTo(route), async (sent) => {
        const answer = await send(method, sent);
        check(method, sent, answer);
        tried += 1;
        if (answer.status < 400) done.add(routeName(route));
      });
      await fc.assert(property, { numRuns: runsOf(route) });
    }
    expect(tried).toBe(table.reduce((sum, route) => sum + runsOf(route), 0));
    expect(table.length).toBeGreaterThanOrEqual(13);
    // It came through to every handler but that of the redrive, for which there is nothing.
    expect(table.map(routeName).filter((name) => !done.has(name))).toEqual([
      'POST /v1/deliveries/{id}/redrive',
    ]);
  });

  it('answers also where there is no route', async () => {
    const anywhere = fc
      .array(text.map(encoded), { maxLength: 4 })
      .map((parts) => `/${parts.join('/')}`);
    await fc.assert(
      fc.asyncProperty(
        anywhere,
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'OPTIONS'),
        async (path, method) => {
          const sent = { path, headers: { host: 'localhost' }, body: undefined };
          const { status, text: body } = await send(method, sent);
          expect(status, body).toBeLessThan(500);
          expect(body).not.toMatch(inside);
        },
      ),
      { numRuns: 300 },
    );
  });
});
