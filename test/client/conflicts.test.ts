// Conflicts: seen once, decided by the user only, and nothing replaced that cannot be brought back.

import { describe, expect, it } from 'vitest';
import { gate, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, draftContent, type Stage, stage } from '../support/sessions.ts';

const mine = attributes({ a: 0, mine: 1 });
const theirs = attributes({ a: 0, theirs: 1 });

/** A session in conflict: mine was made from version 1, theirs is version 2. */
async function conflicted(at: Stage = stage()) {
  const { session, page } = await at.open();
  session.edit(mine);
  at.wire.saveAs('plan', 'bob', theirs);
  await at.advance(debounceMs);
  return { at, session, page };
}

describe('a conflict', () => {
  it('leaves what is on the screen as it is, and keeps it in the draft', async () => {
    const { at, session } = await conflicted();
    const snapshot = session.getSnapshot();
    expect(snapshot).toMatchObject({ status: 'conflict', content: mine, safe: 'draft' });
    expect(snapshot.status === 'conflict' && snapshot.conflict).toMatchObject({
      version: 2,
      by: 'bob',
    });
    expect(draftContent(at)).toEqual(mine);
    expect(at.stored().content).toEqual(theirs);
  });

  it('is told once, and 50 edits in it go into the draft and to no server', async () => {
    const { at, session, page } = await conflicted();
    for (let i = 0; i < 50; i += 1) {
      session.edit(attributes({ mine: i }));
      await at.advance(1000);
    }
    page.hide();
    await session.flush();
    expect(at.server.puts()).toHaveLength(1);
    expect(at.conflicts).toHaveLength(1);
    expect(draftContent(at)).toEqual(attributes({ mine: 49 }));
  });

  it('is never avoided by a version that was only heard of', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    session.edit(mine);
    at.wire.saveAs('plan', 'bob', theirs);
    await settle();
    expect(session.getSnapshot()).toMatchObject({ foreign: { version: 2, by: 'bob' }, version: 1 });
    await at.advance(debounceMs);
    expect(at.server.puts().map(({ body, status }) => [body['expectedVersion'], status])).toEqual([
      [1, 409],
    ]);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: mine });
  });

  it('says where only the number went on', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(mine);
    at.wire.saveAs('plan', 'bob', attributes({ a: 0 }));
    await at.advance(debounceMs);
    expect(at.conflicts).toMatchObject([{ contentUnchanged: true }]);
  });
});

describe('rebase', () => {
  it('saves the merge against the version that was looked at', async () => {
    const { at, session } = await conflicted();
    const rebased = await session.rebase(({ base, mine: my, theirs: their, merge, theirsBy }) => {
      expect([base, my, their, theirsBy]).toEqual([attributes({ a: 0 }), mine, theirs, 'bob']);
      return merge?.content;
    });
    expect(rebased).toEqual({ outcome: 'saved', version: 3 });
    expect(at.stored().content).toEqual(attributes({ a: 0, mine: 1, theirs: 1 }));
    expect(at.server.puts().at(-1)?.body['expectedVersion']).toBe(2);
  });

  it('asks again when somebody was faster again', async () => {
    const { at, session } = await conflicted();
    const seen: unknown[] = [];
    await session.rebase((sides) => {
      seen.push(sides.theirs);
      if (seen.length === 1) at.wire.saveAs('plan', 'bob', attributes({ a: 0, theirs: 2 }));
      return sides.merge?.content;
    });
    expect(seen).toEqual([theirs, attributes({ a: 0, theirs: 2 })]);
    expect(at.stored().content).toEqual(attributes({ a: 0, mine: 1, theirs: 2 }));
  });

  it('asks again when the user typed meanwhile', async () => {
    const { at, session } = await conflicted();
    const seen: unknown[] = [];
    await session.rebase((sides) => {
      seen.push(sides.mine);
      if (seen.length === 1) session.edit(attributes({ a: 0, mine: 2 }));
      return sides.merge?.content;
    });
    expect(seen).toHaveLength(2);
    expect(at.stored().content).toEqual(attributes({ a: 0, mine: 2, theirs: 1 }));
  });

  it('changes nothing when it is called off, or when theirs cannot be read', async () => {
    const { at, session } = await conflicted();
    expect(await session.rebase(() => null)).toMatchObject({ outcome: 'cancelled' });
    at.server.script('GET', { type: 'kill' });
    expect(await session.rebase(() => mine)).toMatchObject({ outcome: 'failed' });
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: mine });
  });

  it('leaves the conflict as it is where the answer is undefined', async () => {
    const { session } = await conflicted();
    expect(await session.rebase(() => undefined)).toMatchObject({ outcome: 'cancelled' });
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: mine });
  });

  it('asks no more when the session has ended meanwhile, with mine in the draft', async () => {
    const { at, session } = await conflicted();
    const { until, open } = gate();
    let asked = 0;
    const rebased = session.rebase(async ({ merge }) => {
      asked += 1;
      if (asked > 9) throw new Error('It asks for ever.');
      await until;
      return merge?.content;
    });
    await settle();
    expect(await session.close()).toBe('drafted');
    await at.advance(5000);
    open();
    expect(await rebased).toMatchObject({ outcome: 'cancelled', status: 'conflict' });
    expect([asked, draftContent(at)]).toEqual([1, mine]);
  });

  it('can be undone, and is a conflict again', async () => {
    const { at, session } = await conflicted();
    await session.rebase(({ merge }) => merge?.content);
    expect(session.getSnapshot().undo).toBe('rebase');
    expect(session.undo()).toBe(true);
    expect(session.getSnapshot().content).toEqual(mine);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: mine, version: 1 });
    expect(at.stored().version).toBe(3);
  });
});

describe('discardAndReload', () => {
  it('takes theirs, and the undo brings mine back into the conflict', async () => {
    const { at, session } = await conflicted();
    expect(await session.discardAndReload()).toEqual({
      ...{ outcome: 'reloaded', version: 2, committed: [] },
    });
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: theirs });
    expect(at.drafts()).toEqual([]);
    session.undo();
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: mine });
    expect(at.stored().content).toEqual(theirs);
  });

  it('abandons a save under way, so that what was thrown away does not arrive later', async () => {
    const at = stage();
    const { session } = await at.open();
    const late = gate();
    at.server.script('PUT', { type: 'delay', until: late.until });
    session.edit(mine);
    await at.advance(debounceMs);
    expect(await session.discardAndReload()).toMatchObject({ outcome: 'reloaded', version: 1 });
    late.open();
    await at.advance(60_000);
    expect(at.stored().content).toEqual(attributes({ a: 0 }));
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: attributes({ a: 0 }) });
  });

  it('names a save that had committed after all', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'drop' });
    session.edit(mine);
    await at.advance(debounceMs);
    expect(await session.discardAndReload()).toEqual({
      ...{ outcome: 'reloaded', version: 2, committed: [2] },
    });
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: mine });
  });

  it('hears nothing of a conflict of the save that it abandoned', async () => {
    const at = stage();
    const { session } = await at.open();
    const late = gate();
    at.server.script('PUT', { type: 'hold', until: late.until });
    at.wire.saveAs('plan', 'bob', theirs);
    session.edit(mine);
    await at.advance(debounceMs);
    expect(await session.discardAndReload()).toMatchObject({ outcome: 'reloaded', version: 2 });
    late.open();
    await settle();
    session.edit(attributes({ a: 0, theirs: 1, mine: 2 }));
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 3 });
    expect(at.conflicts).toEqual([]);
  });

  it('is ended by an edit, which stays', async () => {
    const { at, session } = await conflicted();
    const held = gate();
    at.server.script('GET', { type: 'hold', until: held.until });
    const discarded = session.discardAndReload();
    await settle();
    const more = attributes({ mine: 2 });
    session.edit(more);
    held.open();
    expect(await discarded).toMatchObject({ outcome: 'edited' });
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: more });
  });

  it.each(['GET', 'POST'])('replaces nothing when the %s fails', async (method) => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'kill' });
    session.edit(mine);
    await at.advance(debounceMs);
    at.server.script(method, { type: 'kill' });
    expect(await session.discardAndReload()).toMatchObject({ outcome: 'failed' });
    expect(session.getSnapshot().content).toEqual(mine);
    await at.advance(60_000);
    expect(at.stored().content).toEqual(mine);
  });
});

describe('undo', () => {
  it('that waited for our own save goes on from it', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(attributes({ a: 1 }));
    await session.discardAndReload();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(attributes({ a: 2 }));
    await at.advance(debounceMs);
    session.undo();
    expect(session.getSnapshot().status).toBe('settling');
    held.open();
    await at.advance(60_000);
    expect(at.conflicts).toEqual([]);
    expect(at.stored()).toMatchObject({ version: 3, content: attributes({ a: 1 }) });
  });
});

describe('keepAsCopy', () => {
  it('stores mine as a new document and shows theirs', async () => {
    const { at, session } = await conflicted();
    const copied = await session.keepAsCopy('plan, mine');
    const id = copied.outcome === 'copied' ? copied.id : '';
    expect(at.wire.current(id).content).toEqual(mine);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: theirs });
    expect(at.drafts()).toEqual([]);
  });

  it('keeps a deleted document as a new one', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(mine);
    at.wire.remove('plan', 'bob');
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'gone', content: mine, safe: 'draft' });
    expect(await session.keepAsCopy('again')).toMatchObject({ outcome: 'copied' });
    expect(session.getSnapshot()).toMatchObject({ status: 'gone', safe: 'server' });
  });

  it('leaves the conflict as it is when the copy is not stored', async () => {
    const { at, session } = await conflicted();
    at.server.script('POST', { type: 'drop' });
    expect(await session.keepAsCopy('x')).toMatchObject({ outcome: 'failed' });
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: mine });
    expect(draftContent(at)).toEqual(mine);
  });
});

describe('a version by somebody else', () => {
  it('is taken over when nothing is unsaved', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    at.wire.saveAs('plan', 'bob', theirs);
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: theirs, version: 2 });
    expect(at.server.puts()).toEqual([]);
  });

  it('waits while the page holds', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    const release = session.hold();
    at.wire.saveAs('plan', 'bob', theirs);
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ version: 1, foreign: { version: 2 } });
    release();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ version: 2, content: theirs, foreign: null });
  });

  it('is not taken over when an edit came before its read', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    const held = gate();
    at.server.script('GET', { type: 'hold', until: held.until });
    at.wire.saveAs('plan', 'bob', theirs);
    await settle();
    session.edit(mine);
    held.open();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ content: mine, version: 1 });
  });

  it('is never replaced by an older one whose answer came later', async () => {
    const at = stage();
    const { session, page } = await at.open();
    await at.advance(1000);
    const [first, second] = [gate(), gate()];
    at.server.script('GET', { type: 'hold', until: first.until });
    at.wire.saveAs('plan', 'bob', theirs);
    await settle();
    at.server.script('GET', { type: 'hold', until: second.until });
    at.wire.saveAs('plan', 'bob', attributes({ theirs: 2 }));
    session.edit(mine);
    session.discardAndReload();
    first.open();
    await settle();
    second.open();
    await settle();
    page.show();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ version: 3, content: attributes({ theirs: 2 }) });
  });

  it('is what a reader sees, and what a reader typed stays', async () => {
    const at = stage();
    at.wire.grant('plan', 'eve', 'reader');
    at.browser.signIn('eve');
    const { session } = await at.open(at.browser.openPage(), 'eve');
    await at.advance(1000);
    expect(session.getSnapshot().status).toBe('read-only');
    at.wire.saveAs('plan', 'bob', theirs);
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'read-only', content: theirs });
    session.edit(mine);
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ content: mine, safe: 'draft' });
    expect(at.server.puts()).toEqual([]);
  });

  it('follows when a right was taken away and given again', async () => {
    const at = stage();
    at.wire.grant('plan', 'eve', 'editor');
    at.browser.signIn('eve');
    const { session, page } = await at.open(at.browser.openPage(), 'eve');
    at.wire.grant('plan', 'eve', 'reader');
    session.edit(mine);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({ status: 'read-only', safe: 'draft' });
    at.wire.grant('plan', 'eve', 'editor');
    page.show();
    await at.advance(debounceMs);
    expect(at.stored().content).toEqual(mine);
  });
});

it('merges attributes that are called as JavaScript calls its own', async () => {
  const evil = JSON.parse('{"attributes":{"__proto__":1,"constructor":2,"toString":3}}');
  const at = stage({ content: evil });
  const { session } = await at.open();
  session.edit(JSON.parse('{"attributes":{"__proto__":10,"constructor":2,"toString":3}}'));
  at.wire.saveAs('plan', 'bob', JSON.parse('{"attributes":{"__proto__":1,"constructor":20}}'));
  await at.advance(debounceMs);
  await session.rebase(({ merge }) => merge?.content);
  expect(JSON.stringify(at.stored().content)).toBe(
    '{"attributes":{"__proto__":10,"constructor":20}}',
  );
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});
