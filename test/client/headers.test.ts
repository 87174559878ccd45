// The page's own `headers`: a function that throws, rejects, is late or never answers is a request
// that could not be made, which is tried again, and not a save without an end.

import { afterEach, expect, it, vi } from 'vitest';
import type { Environment } from '../../client/environment.ts';
import { openDocument } from '../../client/index.ts';
import { gate, settle } from '../../client/testing/index.ts';
import type { Headers, HeadersSource } from '../../client/transport.ts';
import { record } from '../../kinds/record.ts';
import { attributes, debounceMs, documentId, stage, url } from '../support/sessions.ts';

const a = attributes({ a: 1 });
const reported: unknown[] = [];

afterEach(() => {
  vi.unstubAllGlobals();
  reported.length = 0;
});

type Source = () => ReturnType<Extract<HeadersSource, () => unknown>>;

/** A session whose headers come from what `source` is at the time. */
async function withSource(first: Source = () => ({})) {
  vi.stubGlobal('reportError', (error: unknown) => reported.push(error));
  const at = stage();
  const page = at.browser.openPage();
  const now = { source: first };
  const sent: Readonly<Record<string, string>>[] = [];
  const environment: Environment = {
    ...page.environment,
    fetch: (to, request) => {
      sent.push(request.headers);
      return page.environment.fetch(to, request);
    },
  };
  const session = openDocument({
    ...{ url, id: documentId, kind: record, user: 'ada', environment },
    headers: () => now.source(),
    onConflict: () => {},
  });
  await at.advance(1000);
  return { at, page, session, now, sent };
}

const failure = new Error('no token');
const failing: readonly (readonly [string, Source])[] = [
  [
    'throws',
    () => {
      throw failure;
    },
  ],
  ['rejects', () => Promise.reject(failure)],
];

it.each(failing)('a save is unconfirmed and sent again where it %s', async (_, source) => {
  const { at, session, now } = await withSource();
  now.source = source;
  session.edit(a);
  await at.advance(debounceMs);
  expect(session.getSnapshot()).toMatchObject({ status: 'unconfirmed', safe: 'draft' });
  expect(await session.flush()).toMatchObject({ outcome: 'unsaved', status: 'unconfirmed' });
  expect(at.server.puts()).toEqual([]);
  expect(new Set(reported)).toEqual(new Set([failure]));
  now.source = () => ({});
  await at.advance(60_000);
  expect(session.getSnapshot().status).toBe('saved');
  expect(at.stored().content).toEqual(a);
});

it.each(failing)('a document is read later where it %s', async (_, source) => {
  const { at, session, now } = await withSource(source);
  expect(session.getSnapshot().status).toBe('loading');
  now.source = () => ({});
  await at.advance(60_000);
  expect(session.getSnapshot().status).toBe('saved');
  expect(at.server.streams()).toBe(1);
});

it('a save is unconfirmed where they never come, and sent again', async () => {
  const { at, session, now } = await withSource();
  now.source = () => new Promise(() => {});
  session.edit(a);
  await at.advance(debounceMs + 30_000);
  expect(session.getSnapshot().status).toBe('unconfirmed');
  now.source = () => ({});
  await at.advance(60_000);
  expect(at.stored().content).toEqual(a);
});

it('nothing is sent with headers that came after the time was up', async () => {
  const { at, session, now } = await withSource();
  const { until, open } = gate();
  now.source = async () => {
    await until;
    return {};
  };
  session.edit(a);
  await at.advance(debounceMs + 30_000);
  open();
  await settle();
  expect(at.server.puts()).toEqual([]);
});

it('any thenable is waited for', async () => {
  const { sent } = await withSource(
    // biome-ignore lint/suspicious/noThenProperty: it is a promise of another making.
    () => ({ then: (run: (own: Headers) => void) => run({ authorization: 'b' }) }) as never,
  );
  expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(new Set(['b']));
});

it('no stream is opened with headers that come after the end', async () => {
  const { until, open } = gate();
  const { at, session } = await withSource(async () => {
    await until;
    return {};
  });
  expect(await session.close()).toBe('saved');
  await at.advance(5000);
  open();
  await at.advance(60_000);
  expect([at.server.streams(), at.clock.armed()]).toEqual([0, 0]);
});
