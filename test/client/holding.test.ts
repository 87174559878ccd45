// Holders: one session for all of them, and an end that loses nothing.

import { describe, expect, it } from 'vitest';
import { openDocument } from '../../client/index.ts';
import { gate, settle } from '../../client/testing/index.ts';
import type { HeadersSource } from '../../client/transport.ts';
import { record } from '../../kinds/record.ts';
import {
  attributes,
  debounceMs,
  documentId,
  draftContent,
  stage,
  url,
} from '../support/sessions.ts';

const [a, b] = [attributes({ a: 1 }), attributes({ a: 2 })];

describe('the holders of a document', () => {
  it('share a session, also when one mounts, unmounts and mounts in a tick', async () => {
    const at = stage();
    const page = at.browser.openPage();
    const first = at.openNow(page);
    first.close();
    const second = at.openNow(page);
    await at.advance(5000);
    second.edit(a);
    expect(at.server.log.filter(({ method }) => method === 'GET').length).toBeLessThanOrEqual(2);
    expect(first.getSnapshot()).toBe(second.getSnapshot());
  });

  it('get one snapshot until something changes, and it at once when they subscribe', async () => {
    const at = stage();
    const { session } = await at.open();
    expect(session.getSnapshot()).toBe(session.getSnapshot());
    const seen: unknown[] = [];
    const stop = session.subscribe(({ content }) => seen.push(content));
    expect(seen).toHaveLength(1);
    session.edit(a);
    expect(seen.at(-1)).toEqual(a);
    stop.unsubscribe();
    session.edit(b);
    expect(seen.at(-1)).toEqual(a);
  });

  it('are told where the work is when one of them leaves', async () => {
    const at = stage();
    const page = at.browser.openPage();
    const [one, two] = [at.openNow(page), at.openNow(page)];
    await settle();
    one.edit(a);
    expect(await one.close()).toBe('saved');
    two.edit(b);
    expect(await two.close()).toBe('saved');
    expect(at.stored().content).toEqual(b);
  });
});

describe('the holder of a document', () => {
  const conflicted = async () => {
    const at = stage();
    const told: string[] = [];
    const { environment } = at.browser.openPage();
    const open = (name: string, headers?: HeadersSource) =>
      openDocument({
        ...{ url, id: documentId, kind: record, user: 'ada', environment },
        ...(headers && { headers }),
        onConflict: () => told.push(name),
      });
    const first = open('first');
    await settle();
    return { at, told, open, first };
  };

  it.each([
    ['is told of a conflict by its own function, also when it opened later', 'before'],
    ['is told of a conflict that is there when it opens', 'after'],
  ])('%s; who closed is not', async (_, when) => {
    const { at, told, open, first } = await conflicted();
    first.edit(a);
    at.wire.saveAs(documentId, 'bob', b);
    first.close();
    if (when === 'before') open('second');
    await at.advance(500);
    if (when === 'after') open('second');
    await at.advance(debounceMs);
    expect(told).toEqual(['second']);
  });

  it('brings its headers, which count from then on', async () => {
    const { at, open, first } = await conflicted();
    const second = open('second', { authorization: 'new' });
    const asked: unknown[] = [];
    const third = open('third', () => {
      asked.push('third');
      return {};
    });
    open('fourth');
    first.edit(a);
    expect(await second.flush()).toMatchObject({ outcome: 'saved' });
    at.server.cutStreams();
    await at.advance(5000);
    expect(asked.length).toBeGreaterThanOrEqual(2);
    third.close();
  });

  it('holds nothing more when it closed', async () => {
    const at = stage();
    const page = at.browser.openPage();
    const [one, two] = [at.openNow(page), at.openNow(page)];
    await at.advance(1000);
    one.hold();
    const release = two.hold();
    await one.close();
    release();
    at.wire.saveAs(documentId, 'bob', b);
    await settle();
    expect(two.getSnapshot()).toMatchObject({ version: 2, content: b });
  });

  it('is told that nothing was undone where nothing can be', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    session.edit(a);
    await session.discardAndReload();
    at.wire.remove(documentId, 'bob');
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'gone', undo: 'discard' });
    expect(session.undo()).toBe(false);
  });
});

describe('a call that waits', () => {
  it('is answered while a choice waits for a save that the network lost', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(a);
    await session.discardAndReload();
    at.server.always((method) => (method === 'PUT' ? { type: 'kill' } : undefined));
    session.edit(b);
    await at.advance(debounceMs);
    session.undo();
    await settle();
    expect(session.getSnapshot().status).toBe('settling');
    const answers: unknown[] = [];
    session.flush().then((answer) => answers.push(answer));
    session.close().then((answer) => answers.push(answer));
    await at.advance(60_000);
    expect(answers).toMatchObject([{ outcome: 'unsaved', status: 'settling' }, 'drafted']);
  });

  it('is answered where a page came back and cannot read', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    page.freeze();
    at.server.always((method) => (method === 'GET' ? { type: 'kill' } : undefined));
    page.thaw();
    await settle();
    const answers: unknown[] = [];
    session.flush().then((answer) => answers.push(answer));
    session.close().then((answer) => answers.push(answer));
    await at.advance(60_000);
    expect(answers).toMatchObject([{ outcome: 'unsaved', status: 'dirty' }, 'drafted']);
  });
});

describe('the end of a session', () => {
  it('saves what waits for a pause', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(a);
    expect(await session.close()).toBe('saved');
    expect(at.stored().content).toEqual(a);
  });

  it('waits for the save under way and for what was typed meanwhile', async () => {
    const at = stage();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    session.edit(b);
    const closed = session.close();
    held.open();
    await at.advance(debounceMs);
    expect(await closed).toBe('saved');
    expect(at.stored().content).toEqual(b);
  });

  it('leaves the work in the draft when the network is away, and saves it later', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    expect(await session.close()).toBe('drafted');
    expect(draftContent(at)).toEqual(a);
    await at.advance(60_000);
    at.browser.goOnline();
    await at.advance(60_000);
    expect(at.stored().content).toEqual(a);
    expect(at.drafts()).toEqual([]);
  });

  it('keeps the session when there is neither network nor storage, and says so', async () => {
    const at = stage({ withMirror: false });
    const { session, page } = await at.open();
    at.browser.goOffline();
    at.browser.storage.quota = 0;
    session.edit(a);
    expect(await session.close()).toBe('kept');
    await at.advance(3_600_000);
    const again = at.openNow(page);
    expect(again.getSnapshot()).toMatchObject({ content: a, safe: 'page', draftTrouble: 'full' });
  });

  it('leaves a conflict in the draft, and the next session is offered it', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    at.wire.saveAs('plan', 'bob', b);
    await at.advance(debounceMs);
    expect(await session.close()).toBe('drafted');
    await at.advance(5000);
    const next = at.openNow(page);
    await settle();
    expect(next.getSnapshot()).toMatchObject({ status: 'saved', content: b });
    expect(next.getSnapshot().siblings).toMatchObject([{ content: a, stale: true, alive: false }]);
    next.edit(attributes({ a: 3 }));
    await at.advance(300);
    expect(at.drafts()).toHaveLength(2);
  });

  it('ends when nothing is unanswered: no timer, no stream, no lock is left', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    session.edit(a);
    at.server.script('PUT', { type: 'drop' });
    session.close();
    await at.advance(120_000);
    expect(at.stored().content).toEqual(a);
    expect([at.clock.armed(), at.server.streams(), at.browser.locks()]).toEqual([0, 0, []]);
  });

  it('is put off by who opens the document again', async () => {
    const at = stage();
    const { session, page } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    await session.close();
    await at.advance(60_000);
    const again = at.openNow(page);
    expect(again.getSnapshot()).toMatchObject({ content: a, safe: 'draft', siblings: [] });
    at.browser.goOnline();
    await settle();
    expect(again.getSnapshot().status).toBe('saved');
  });
});
