// Answers that do not come, come broken, or come to another question: neither saved nor failed, and
// made certain by the save id.

import { describe, expect, it } from 'vitest';
import { type Fault, gate, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, draftContent, stage } from '../support/sessions.ts';

const [a, b] = [attributes({ a: 1 }), attributes({ a: 2 })];

const lost: readonly (readonly [string, Fault])[] = [
  ['the connection dies after the commit', { type: 'drop' }],
  ['the connection dies before the commit', { type: 'kill' }],
  ['the headers are cut off', { type: 'truncate' }],
  ['500 after the commit', { type: 'lie', status: 500 }],
  ['502 with a page', { type: 'lie', status: 502 }],
  ['429', { type: 'reply', status: 429 }],
  ['408', { type: 'reply', status: 408 }],
  ['425', { type: 'reply', status: 425 }],
  ['an answer without a version', { type: 'lie', status: 200, body: {} }],
  [
    'the receipt of another save',
    {
      type: 'lie',
      status: 200,
      body: { saveId: 'x', verdict: 'saved', version: 9, currentVersion: 9 },
    },
  ],
  ['a version that is a text', { type: 'lie', status: 200, body: { saveId: 'x', version: '2' } }],
];

describe('an answer that says nothing', () => {
  it.each(lost)('leaves the save unconfirmed and the draft there: %s', async (_, fault) => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', fault);
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'unconfirmed', safe: 'draft' });
    expect(draftContent(at)).toEqual(a);
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 2, content: a });
    expect(new Set(at.server.puts().map(({ body }) => body['saveId'])).size).toBe(1);
    expect(at.conflicts).toEqual([]);
    expect(at.drafts()).toEqual([]);
  });

  it('takes a time-out for no answer, and the late commit for its own', async () => {
    const at = stage();
    const { session } = await at.open();
    const late = gate();
    at.server.script('PUT', { type: 'delay', until: late.until });
    session.edit(a);
    await at.advance(debounceMs + 30_000);
    expect(session.getSnapshot().status).toBe('unconfirmed');
    late.open();
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 2 });
    expect(at.wire.stored('plan').revisions).toHaveLength(2);
  });

  it('waits as long as the server asks', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'reply', status: 503, retryAfter: 60 });
    session.edit(a);
    await at.advance(debounceMs + 59_999);
    expect(at.server.puts()).toHaveLength(1);
    await at.advance(1);
    expect(at.server.puts()).toHaveLength(2);
  });

  it('spaces its tries, and does not give up', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.always((method) => (method === 'PUT' ? { type: 'kill' } : undefined));
    session.edit(a);
    await at.advance(3_600_000);
    const tries = at.server.puts().length;
    expect(tries).toBeGreaterThan(100);
    expect(tries).toBeLessThan(250);
    at.server.always(() => undefined);
    await at.advance(60_000);
    expect(session.getSnapshot().status).toBe('saved');
  });

  it('takes the second answer of a request that the browser sent twice', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'twice' });
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 2 });
    expect(at.wire.stored('plan').revisions).toHaveLength(2);
  });

  it('goes on to the newest version when its own lost save lies under it', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'drop' });
    session.edit(a);
    await at.advance(debounceMs);
    at.wire.saveAs('plan', 'bob', b);
    await at.advance(60_000);
    expect(at.conflicts).toEqual([]);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 3, content: b });
  });

  it('finds its own lost save as the base of a conflict, where more was typed', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'drop' });
    session.edit(a);
    await at.advance(debounceMs);
    at.wire.saveAs('plan', 'bob', attributes({ a: 1, b: 1 }));
    session.edit(attributes({ a: 1, c: 1 }));
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', version: 2 });
    await session.rebase(({ base, merge }) => {
      expect(base).toEqual(a);
      return merge?.content ?? null;
    });
    expect(at.stored().content).toEqual(attributes({ a: 1, b: 1, c: 1 }));
  });

  it('does not take the announcement of its own save for a receipt, nor for a change', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    expect(at.server.streams()).toBe(1);
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'saving', foreign: null });
    held.open();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', foreign: null });
    expect(at.server.puts()).toHaveLength(1);
  });

  it('asks at once when its unconfirmed save is announced', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    const late = gate();
    at.server.script('PUT', { type: 'delay', until: late.until });
    session.edit(a);
    await at.advance(debounceMs + 30_000);
    expect(session.getSnapshot().status).toBe('unconfirmed');
    late.open();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 2 });
  });
});

describe('the network', () => {
  it('holds saves while the browser is offline, and then needs no further edit', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'offline', safe: 'draft' });
    expect(at.server.puts()).toHaveLength(0);
    at.browser.goOnline();
    await settle();
    expect(session.getSnapshot().status).toBe('saved');
  });

  it('goes on after a network that died without a word', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.cutNetwork();
    session.edit(a);
    await at.advance(300_000);
    at.browser.mendNetwork();
    await at.advance(30_000);
    expect(session.getSnapshot().status).toBe('saved');
  });

  it('opens a document when the network is back', async () => {
    const at = stage();
    at.browser.goOffline();
    const { session } = await at.open();
    expect(session.getSnapshot().status).toBe('offline');
    await at.advance(60_000);
    at.browser.goOnline();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 1 });
  });
});

describe('a sign-in', () => {
  it.each<[string, Fault]>([
    ['401', { type: 'reply', status: 401 }],
    ['a redirect to a sign-in page', { type: 'redirect' }],
    ['a sign-in page with status 200', { type: 'page' }],
  ])('freezes the queue and keeps the work: %s', async (_, fault) => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', fault);
    session.edit(a);
    await at.advance(600_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'signed-out', safe: 'draft' });
    session.edit(b);
    await at.advance(600_000);
    expect(at.server.puts()).toHaveLength(1);
    expect(session.signedIn('bob')).toBe('another-user');
    await at.advance(600_000);
    expect(at.server.puts()).toHaveLength(1);
    expect(session.signedIn('ada')).toBe('resumed');
    await at.advance(60_000);
    expect(at.stored().content).toEqual(b);
    expect(at.conflicts).toEqual([]);
  });
});
