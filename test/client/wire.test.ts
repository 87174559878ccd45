// Answers that only a real server has reasons for, and what a session makes of them; and what it
// asks of a page that holds it.

import { describe, expect, it } from 'vitest';
import { type OpenOptions, openDocument } from '../../client/index.ts';
import { type Fault, gate, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, documentId, draftContent, stage } from '../support/sessions.ts';

const [a, b] = [attributes({ a: 1 }), attributes({ a: 2 })];

/** Bob edits what is ada's, and hears what happens to it. */
async function bobs() {
  const at = stage();
  at.browser.signIn('bob');
  const opened = await at.open(at.browser.openPage(), 'bob');
  await at.advance(1000);
  return { at, ...opened };
}

describe('a document that is missing', () => {
  it('is gone for whom a read says so; what was shown stays', async () => {
    const { at, session } = await bobs();
    at.wire.revoke(documentId, 'bob');
    await settle();
    expect(session.getSnapshot()).toMatchObject({
      ...{ status: 'gone', content: attributes({ a: 0 }) },
      problem: { code: 'document_not_found' },
    });
  });

  it('ends the wait for it, as the close of a session does that read nothing', async () => {
    const at = stage();
    at.browser.signIn('eve');
    const { session } = await at.open(at.browser.openPage(), 'eve');
    expect(await session.whenLoaded()).toBe('gone');
    expect(await (await bobs()).session.whenLoaded()).toBe('loaded');
    at.browser.signIn('bob');
    const { until, open } = gate();
    at.server.script('GET', { type: 'delay', until });
    const other = at.openNow(at.browser.openPage(), 'bob');
    const loaded = other.whenLoaded();
    void other.close();
    await at.advance(60_000);
    expect(await loaded).toBe('closed');
    open();
  });

  it('is gone when the next save says so; what was typed stays in the draft', async () => {
    const { at, session } = await bobs();
    session.edit(a);
    at.wire.revoke(documentId, 'bob');
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'dirty', content: a });
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'gone', content: a, safe: 'draft' });
    session.edit(b);
    await at.advance(debounceMs);
    expect(draftContent(at)).toEqual(b);
    expect(at.server.puts()).toHaveLength(1);
  });

  it('is there where the read finds it, whatever the stream of another page saw', async () => {
    const { at, session } = await bobs();
    const { until, open } = gate();
    at.server.script('GET', { type: 'delay', until });
    at.wire.revoke(documentId, 'bob');
    at.wire.grant(documentId, 'bob', 'editor');
    open();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: attributes({ a: 0 }) });
    session.edit(a);
    await at.advance(debounceMs);
    expect(at.stored().content).toEqual(a);
  });

  it('is said when a stream is opened for it', async () => {
    const { at, session } = await bobs();
    at.server.cutStreams();
    at.wire.stored(documentId).access.delete('bob');
    await at.advance(5000);
    expect(session.getSnapshot().status).toBe('gone');
  });
});

describe('a save', () => {
  const body = (content: unknown, saveId = 'one') =>
    JSON.stringify({ saveId, writer: 'w', expectedVersion: 1, content });
  const put = (at: ReturnType<typeof stage>, content: unknown) =>
    at.wire.answer({
      ...{ user: 'ada', method: 'PUT', path: `/v1/documents/${documentId}` },
      body: body(content),
    });

  it('whose id had another content is blocked, and the next edit gets its own', async () => {
    const at = stage();
    expect([put(at, a).status, put(at, a).status]).toEqual([200, 200]);
    expect(put(at, b)).toMatchObject({ status: 422, body: { code: 'save_id_reused' } });
    const { session } = await at.open();
    at.server.script('PUT', { type: 'reply', ...put(at, b) });
    session.edit(b);
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({
      ...{ status: 'blocked', safe: 'draft', problem: { code: 'save_id_reused' } },
    });
    session.edit(attributes({ a: 3 }));
    await at.advance(debounceMs);
    const [first, second] = at.server.puts();
    expect(first?.body['saveId']).not.toBe(second?.body['saveId']);
    expect(session.getSnapshot().status).toBe('saved');
  });

  it('is in conflict where a proxy made a precondition of its version', async () => {
    const at = stage();
    const { session } = await at.open();
    const version = at.wire.saveAs(documentId, 'bob', b);
    const conflict = { version, by: 'bob', at: '', writer: null, saveId: null };
    at.server.script('PUT', {
      ...{ type: 'reply', status: 412, body: { code: 'precondition_failed', conflict } },
    });
    session.edit(a);
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', conflict: { by: 'bob' } });
    expect(at.server.puts()).toHaveLength(1);
  });

  it('that was stored keeps its receipt, although the right is gone since', async () => {
    const { at, session } = await bobs();
    at.server.script('PUT', { type: 'drop' });
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot().status).toBe('unconfirmed');
    at.wire.grant(documentId, 'bob', 'reader');
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ unsaved: false, version: 2, content: a });
    expect(at.drafts()).toEqual([]);
  });

  it('that the server refuses names the place in the content, as the kind does', async () => {
    const at = stage();
    const reply = put(at, { attributes: { price: '\u0000' } });
    expect(reply).toMatchObject({
      ...{ status: 422, body: { errors: [{ pointer: '/content/attributes/price' }] } },
    });
    const { session } = await at.open();
    at.server.script('PUT', { type: 'reply', ...reply });
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({
      problem: { code: 'invalid_content', pointers: ['/attributes/price'] },
    });
  });

  it('that waits is one more, whoever asks for it, and in between nothing says saved', async () => {
    const at = stage();
    const { session, page } = await at.open();
    const other = at.openNow(page);
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    session.edit(b);
    const seen = new Set<string>();
    session.subscribe(({ status }) => seen.add(status));
    const flushed = [session.flush(), other.flush(), session.flush()];
    held.open();
    const answers = await Promise.all(flushed);
    expect(answers.map((each) => each.outcome)).toEqual(['saved', 'saved', 'saved']);
    expect(at.server.puts().map((each) => each.body['expectedVersion'])).toEqual([1, 2]);
    expect([...seen]).toEqual(['saving', 'dirty', 'saved'].filter((each) => seen.has(each)));
    expect([...seen].at(-1)).toBe('saved');
  });
});

describe('a read', () => {
  it('that fails late says nothing of a later one', async () => {
    const at = stage();
    const { session, page } = await at.open();
    const late = gate();
    const failing: Fault = { type: 'reply', status: 500, until: late.until };
    at.server.script('GET', failing);
    page.show();
    session.edit(a);
    await at.advance(debounceMs);
    page.show();
    await settle();
    late.open();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: a, version: 2 });
    await at.advance(60_000);
    expect(at.server.log.filter(({ method }) => method === 'GET')).toHaveLength(3);
  });
});

describe('what was typed', () => {
  it('is in the draft in the tick in which the last holder lets go', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.cutNetwork();
    session.edit(a);
    session.close();
    expect(draftContent(at)).toEqual(a);
  });

  it('into a deleted document is offered to the next page that opens it', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    at.wire.remove(documentId, 'bob');
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'gone', safe: 'draft' });
    page.crash();
    at.wire.stored(documentId).deleted = false;
    const { session: next } = await at.open();
    expect(next.getSnapshot().siblings).toMatchObject([{ content: a, stale: false }]);
  });
});

describe('the types', () => {
  it('do not let a page forget the conflict', () => {
    const forgetful = (options: Omit<OpenOptions, 'onConflict'>) =>
      // @ts-expect-error: who opens a document says what a conflict does.
      openDocument(options);
    const blind = (session: ReturnType<typeof openDocument>) =>
      // @ts-expect-error: only a snapshot that is in conflict has one.
      session.getSnapshot().conflict;
    expect([forgetful, blind]).toHaveLength(2);
  });
});
