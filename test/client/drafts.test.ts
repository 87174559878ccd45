// Drafts: written behind the keystroke, whole at a hide, gone with the receipt of that very
// content, and another page's is offered, never applied.

import { describe, expect, it } from 'vitest';
import { troubleOf } from '../../client/draft-store.ts';
import type { DocumentSession } from '../../client/index.ts';
import { gate, securityError, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, draftContent, stage } from '../support/sessions.ts';

const [a, b] = [attributes({ a: 1 }), attributes({ a: 2 })];

describe('a draft', () => {
  it('is at most 300 ms behind, and at once whole when the page is hidden', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    expect(at.drafts()).toEqual([]);
    await at.advance(300);
    expect(draftContent(at)).toEqual(a);
    session.edit(b);
    at.server.script('PUT', { type: 'kill' });
    page.hide();
    expect(draftContent(at)).toEqual(b);
  });

  it('is written neither at every keystroke nor only after a pause', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.goOffline();
    const seen = new Set<string>();
    for (let i = 0; i < 50; i += 1) {
      session.edit(attributes({ a: i }));
      await at.advance(20);
      for (const [, text] of at.drafts()) seen.add(text);
    }
    expect(seen.size).toBeGreaterThanOrEqual(3);
    expect(seen.size).toBeLessThanOrEqual(4);
  });

  it('goes with the receipt of its content, in both copies, and not before', async () => {
    const at = stage();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    expect([at.drafts().length, at.browser.mirror.entries().length]).toEqual([1, 1]);
    held.open();
    await settle();
    expect([at.drafts().length, at.browser.mirror.entries().length]).toEqual([0, 0]);
  });

  it('of newer content outlasts the receipt of older, and has the newer base', async () => {
    const at = stage();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    session.edit(b);
    await at.advance(300);
    held.open();
    await settle();
    expect(draftContent(at)).toEqual(b);
    await at.advance(300);
    expect(at.drafts()[0]?.[1]).toContain('"base":2');
  });
});

describe('a storage that fails', () => {
  it('is said, leaves the draft before it, and is tried again when there is room', async () => {
    const at = stage({ withMirror: false });
    const { session } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    await at.advance(300);
    at.browser.storage.quota = 100;
    session.edit(attributes({ a: 'x'.repeat(1000) }));
    await at.advance(300);
    expect(session.getSnapshot()).toMatchObject({ draftTrouble: 'full', safe: 'page' });
    expect(draftContent(at)).toEqual(a);
    at.browser.storage.quota = 5_242_880;
    session.edit(b);
    await at.advance(300);
    expect(session.getSnapshot()).toMatchObject({ draftTrouble: null, safe: 'draft' });
    expect(draftContent(at)).toEqual(b);
  });

  it('comes back by itself', async () => {
    const at = stage({ withMirror: false });
    const { session } = await at.open();
    at.browser.goOffline();
    at.browser.storage.error = securityError();
    session.edit(a);
    await at.advance(300);
    expect(session.getSnapshot()).toMatchObject({ draftTrouble: 'blocked', safe: 'page' });
    at.browser.storage.error = null;
    await at.advance(30_000);
    expect(session.getSnapshot()).toMatchObject({ draftTrouble: null, safe: 'draft' });
  });

  it('leaves the mirror as the draft', async () => {
    const at = stage();
    const { session, page } = await at.open();
    at.browser.goOffline();
    at.browser.storage.quota = 0;
    session.edit(a);
    await at.advance(300);
    expect(session.getSnapshot()).toMatchObject({ draftTrouble: null, safe: 'draft' });
    page.crash();
    at.browser.goOnline();
    const { session: next } = await at.open();
    expect(next.getSnapshot().siblings).toMatchObject([{ content: a }]);
  });

  it('lets a session load and save', async () => {
    const at = stage();
    at.browser.storage.error = securityError();
    at.browser.mirror.error = securityError();
    const { session } = await at.open();
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: a });
  });

  it.each([
    [{ name: 'QuotaExceededError' }, 'full'],
    [{ name: 'NS_ERROR_DOM_QUOTA_REACHED' }, 'full'],
    [{ name: 'SecurityError' }, 'blocked'],
    [null, 'blocked'],
  ])('is full or blocked: %o', (error, because) => {
    expect(troubleOf(error)).toBe(because);
  });
});

describe('what another page left', () => {
  /** A page that crashed with `a` unsaved. */
  async function crashed(at = stage()) {
    const { session, page } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    await at.advance(300);
    page.crash();
    at.browser.goOnline();
    return at;
  }

  it('is offered with its age, size and base, and is not applied', async () => {
    const at = await crashed();
    const { session } = await at.open();
    const [sibling] = session.getSnapshot().siblings;
    expect(sibling).toMatchObject({ base: 1, stale: false, alive: false, content: a });
    expect(sibling?.at).toBeLessThanOrEqual(at.clock.now());
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: attributes({ a: 0 }) });
    session.edit(b);
    await at.advance(60_000);
    expect(session.getSnapshot().siblings).toHaveLength(1);
    expect(at.drafts()).toHaveLength(1);
  });

  it('is adopted, saved, and then gone; the undo brings back what it replaced', async () => {
    const at = await crashed();
    const { session } = await at.open();
    const [sibling] = session.getSnapshot().siblings;
    const adopted = session.adopt(sibling?.key ?? '');
    await at.advance(debounceMs);
    expect(await adopted).toBe('adopted');
    expect(at.stored().content).toEqual(a);
    expect([at.drafts(), session.getSnapshot().siblings]).toEqual([[], []]);
    expect(session.undo()).toBe(true);
    await at.advance(debounceMs);
    expect(at.stored()).toMatchObject({ version: 3, content: attributes({ a: 0 }) });
  });

  it('is in conflict when it is adopted over a newer version', async () => {
    const at = await crashed();
    at.wire.saveAs('plan', 'bob', b);
    const { session } = await at.open();
    const [sibling] = session.getSnapshot().siblings;
    expect(sibling).toMatchObject({ base: 1, stale: true });
    session.adopt(sibling?.key ?? '');
    await at.advance(debounceMs + 300);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: a, version: 1 });
    expect(at.stored().content).toEqual(b);
    await session.rebase(({ base, mine }) => {
      expect(base).toEqual(attributes({ a: 0 }));
      return mine;
    });
    expect(at.stored().content).toEqual(a);
  });

  it('waits for the session\u2019s own save before it is adopted', async () => {
    const at = await crashed();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(b);
    session.flush();
    await settle();
    const adopted = session.adopt(session.getSnapshot().siblings[0]?.key ?? '');
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'settling', content: b });
    held.open();
    await at.advance(300);
    expect(await adopted).toBe('adopted');
    expect(session.getSnapshot().content).toEqual(a);
  });

  it('stays where it is when the adoption is called off by an edit', async () => {
    const at = await crashed();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(b);
    session.flush();
    await settle();
    const adopted = session.adopt(session.getSnapshot().siblings[0]?.key ?? '');
    await settle();
    const more = attributes({ a: 3 });
    session.edit(more);
    expect(await adopted).toBe('cancelled');
    held.open();
    await at.advance(debounceMs);
    expect(at.stored().content).toEqual(more);
    expect(session.getSnapshot().siblings).toHaveLength(1);
  });

  it.each<[string, (session: DocumentSession, key: string) => void]>([
    ['an undo', (session) => session.undo()],
    ['another adoption', (session, key) => session.adopt(key)],
  ])('stays where it is when %s takes the place of its adoption', async (_, choose) => {
    const at = await crashed(await crashed());
    const { session } = await at.open();
    session.edit(attributes({ a: 9 }));
    await session.discardAndReload();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(b);
    session.flush();
    await settle();
    const [first, second] = session.getSnapshot().siblings.map(({ key }) => key);
    const adopted = session.adopt(first ?? '');
    await settle();
    choose(session, second ?? '');
    held.open();
    await at.advance(60_000);
    expect(await adopted).toBe('cancelled');
    expect(at.drafts().map(([key]) => key)).toContain(first);
  });

  it('stays where it is when its adoption is undone before anything has it', async () => {
    const at = await crashed();
    const { session } = await at.open();
    const adopted = session.adopt(session.getSnapshot().siblings[0]?.key ?? '');
    await settle();
    expect(session.getSnapshot().content).toEqual(a);
    session.undo();
    expect(await adopted).toBe('adopted');
    await at.advance(60_000);
    expect(session.getSnapshot().siblings).toMatchObject([{ content: a }]);
  });

  it('is offered where it goes back from a version that this page has not seen', async () => {
    const at = stage();
    const { session, page } = await at.open();
    page.leave();
    at.wire.saveAs('plan', 'bob', b);
    const { session: other, page: dying } = await at.open();
    at.browser.cutNetwork();
    other.edit(attributes({ a: 0 }));
    await at.advance(300);
    dying.crash();
    page.comeBack();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ version: 1, siblings: [{ base: 2 }] });
    expect(at.drafts()).toHaveLength(1);
  });

  it('is discarded when the user says so', async () => {
    const at = await crashed();
    const { session } = await at.open();
    expect(await session.discardSibling(session.getSnapshot().siblings[0]?.key ?? '')).toBe(true);
    expect([at.drafts(), at.browser.mirror.entries()]).toEqual([[], []]);
  });

  it('is offered by each of three pages that crashed', async () => {
    const at = stage();
    for (const content of [a, b, attributes({ a: 3 })]) {
      const { session, page } = await at.open();
      at.browser.goOffline();
      session.edit(content);
      await at.advance(300);
      page.crash();
      at.browser.goOnline();
    }
    const { session } = await at.open();
    expect(session.getSnapshot().siblings).toHaveLength(3);
  });

  it('is ordered by base and counter, whatever the clock did', async () => {
    const at = stage();
    for (const [content, jump] of [
      [a, 3_600_000],
      [b, -7_200_000],
    ] as const) {
      at.clock.jump(jump);
      const { session, page } = await at.open();
      session.edit(attributes({ x: jump }));
      await at.advance(debounceMs);
      at.browser.goOffline();
      session.edit(content);
      await at.advance(300);
      page.crash();
      at.browser.goOnline();
    }
    const { session } = await at.open();
    expect(session.getSnapshot().siblings.map(({ base }) => base)).toEqual([3, 2]);
  });

  it('is not shown to another user, nor while nobody is signed in', async () => {
    const at = await crashed();
    at.browser.signIn('bob');
    const { session } = await at.open(at.browser.openPage(), 'bob');
    expect(session.getSnapshot().siblings).toEqual([]);
    at.browser.signIn('ada');
    const { session: own } = await at.open();
    expect(own.getSnapshot().siblings).toHaveLength(1);
    at.server.script('PUT', { type: 'reply', status: 401 });
    own.edit(b);
    await at.advance(debounceMs);
    expect(own.getSnapshot().siblings).toEqual([]);
  });

  it('is not offered when its content is what is stored', async () => {
    const at = stage();
    const { session, page } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    page.crash();
    const { session: next } = await at.open();
    expect(next.getSnapshot()).toMatchObject({ content: a, siblings: [] });
    expect(at.drafts()).toEqual([]);
  });

  it('is looked at only, while its page is open', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    await at.advance(300);
    at.browser.goOnline();
    at.server.script('PUT', { type: 'kill' });
    const { session: other } = await at.open();
    const [sibling] = other.getSnapshot().siblings;
    expect(sibling).toMatchObject({ alive: true });
    expect(await other.adopt(sibling?.key ?? '')).toBe('unavailable');
    expect(await other.discardSibling(sibling?.key ?? '')).toBe(false);
    expect(at.drafts()).toHaveLength(1);
  });
});
