// Pages: hidden, frozen, brought back, duplicated, killed; and several at once.

import { describe, expect, it } from 'vitest';
import { gate, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, draftContent, stage } from '../support/sessions.ts';

const [a, b] = [attributes({ a: 1 }), attributes({ a: 2 })];

describe('a page that is hidden', () => {
  it('saves at once, by a request that outlives it', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    page.hide();
    expect(at.server.puts()).toMatchObject([{ keepalive: true }]);
  });

  it('sends one save per content, however often it is hidden and shown', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    for (let i = 0; i < 5; i += 1) {
      page.hide();
      page.hide();
      page.show();
    }
    await at.advance(60_000);
    expect(at.server.puts()).toHaveLength(1);
  });

  it.each([
    ['in order', [0, 1]],
    ['the other way round', [1, 0]],
  ])('flushes behind its own unanswered save, answered %s', async (_, order) => {
    const at = stage();
    const { session, page } = await at.open();
    const gates = [gate(), gate()];
    for (const { until } of gates) at.server.script('PUT', { type: 'delay', until });
    session.edit(a);
    await at.advance(debounceMs);
    session.edit(b);
    page.hide();
    page.hide();
    const [first, second] = at.server.puts();
    expect(second?.body).toMatchObject({ expectedVersion: 1, after: [first?.body['saveId']] });
    for (const i of order) {
      gates[i]?.open();
      await settle();
    }
    expect(at.server.puts()).toHaveLength(2);
    expect(at.stored().content).toEqual(b);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: b });
    expect(session.getSnapshot().version).toBe(at.stored().version);
    expect(at.conflicts).toEqual([]);
  });

  it.each([
    ['fits', 65_536, true],
    ['does not fit', 65_537, false],
  ])('takes a plain request where the body %s no more', async (_, bytes, keepalive) => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(attributes({ a: '' }));
    page.hide();
    await settle();
    page.show();
    const empty = JSON.stringify(at.server.puts()[0]?.body).length;
    session.edit(attributes({ a: 'x'.repeat(bytes - empty) }));
    page.hide();
    expect(at.server.puts()[1]?.keepalive).toBe(keepalive);
  });

  it('shares the budget among its documents', async () => {
    const at = stage();
    at.wire.create({ id: 'other', kind: 'record', content: a, owner: 'ada' });
    const page = at.browser.openPage();
    const both = ['plan', 'other'].map((id) => at.openNow(page, 'ada', id));
    await settle();
    for (const session of both) session.edit(attributes({ a: 'x'.repeat(40_000) }));
    page.hide();
    expect(at.server.puts().map(({ keepalive }) => keepalive)).toEqual([true, false]);
  });

  it('does not flush in a conflict', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    at.wire.saveAs('plan', 'bob', b);
    await at.advance(debounceMs);
    session.edit(attributes({ a: 3 }));
    page.hide();
    expect(at.server.puts()).toHaveLength(1);
    expect(draftContent(at)).toEqual(attributes({ a: 3 }));
  });
});

describe('a page that comes back', () => {
  it('reads before it saves, and finds what was saved meanwhile', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    at.browser.cutNetwork();
    page.freeze();
    at.wire.saveAs('plan', 'bob', b);
    await at.advance(3_600_000);
    at.browser.mendNetwork();
    page.thaw();
    await at.advance(debounceMs);
    expect(at.server.puts()).toEqual([]);
    expect(session.getSnapshot()).toMatchObject({ status: 'conflict', content: a });
    expect(at.stored().content).toEqual(b);
  });

  it('saves when nobody else did', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    page.freeze();
    await at.advance(3_600_000);
    page.thaw();
    await at.advance(debounceMs);
    expect(at.stored().content).toEqual(a);
    expect(session.getSnapshot().status).toBe('saved');
  });

  it('tries its read again before it saves', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    page.freeze();
    at.server.script('GET', { type: 'kill' });
    page.thaw();
    await settle();
    session.edit(b);
    expect(at.server.puts()).toEqual([]);
    await at.advance(60_000);
    expect(at.stored().content).toEqual(b);
  });

  it('from the back-forward cache makes certain what it had sent', async () => {
    const at = stage();
    const { session, page } = await at.open();
    session.edit(a);
    page.leave();
    await at.advance(3_600_000);
    expect(at.stored().content).toEqual(a);
    at.wire.saveAs('plan', 'bob', b);
    page.comeBack();
    await at.advance(60_000);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: b, version: 3 });
    expect(at.conflicts).toEqual([]);
  });

  it('shows what was saved meanwhile, when nothing is unsaved', async () => {
    const at = stage();
    const { session, page } = await at.open();
    page.leave();
    at.wire.saveAs('plan', 'bob', b);
    page.comeBack();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', content: b });
  });
});

describe('several pages', () => {
  it('overwrite nothing: every second of two that alternate is in conflict', async () => {
    const at = stage();
    const [one, two] = [await at.open(), await at.open()];
    one.session.hold();
    two.session.hold();
    one.session.edit(a);
    await one.session.flush();
    two.session.edit(b);
    await two.session.flush();
    expect(two.session.getSnapshot()).toMatchObject({ status: 'conflict', content: b });
    expect(at.stored().content).toEqual(a);
  });

  it('follow each other when nothing is unsaved, and write nothing', async () => {
    const at = stage();
    const [one, two] = [await at.open(), await at.open()];
    await at.advance(1000);
    two.session.edit(a);
    await two.session.flush();
    await settle();
    expect(one.session.getSnapshot()).toMatchObject({ status: 'saved', content: a, version: 2 });
    one.page.hide();
    one.page.show();
    await at.advance(60_000);
    expect(at.server.puts()).toHaveLength(1);
  });

  it('have writers and draft slots of their own, whatever they have copied', async () => {
    const at = stage();
    const [one, two] = [await at.open(), await at.open()];
    at.browser.goOffline();
    one.session.edit(a);
    two.session.edit(b);
    await at.advance(300);
    expect(at.drafts()).toHaveLength(2);
    one.page.crash();
    at.browser.goOnline();
    await at.advance(debounceMs);
    expect(at.drafts()).toHaveLength(1);
  });

  it('share one stream, and another page takes it over when its page is killed', async () => {
    const at = stage();
    const pages = [];
    for (let i = 0; i < 7; i += 1) pages.push(await at.open());
    await at.advance(1000);
    expect(at.server.streams()).toBe(1);
    pages[0]?.page.crash();
    at.server.cutStreams();
    await at.advance(60_000);
    expect(at.server.streams()).toBe(1);
    at.wire.saveAs('plan', 'bob', b);
    await settle();
    for (const { session } of pages.slice(1)) expect(session.getSnapshot().content).toEqual(b);
  });

  it('are asked for no more by the stream when they are gone', async () => {
    const at = stage();
    at.wire.create({ id: 'other', kind: 'record', content: a, owner: 'ada' });
    const [leader, follower] = [at.browser.openPage(), at.browser.openPage()];
    const urls: string[] = [];
    const { openStream } = leader.environment;
    Object.assign(leader.environment, {
      openStream: (...args: Parameters<typeof openStream>) => {
        urls.push(args[0]);
        return openStream(...args);
      },
    });
    at.openNow(leader);
    await at.advance(1000);
    at.openNow(follower, 'ada', 'other');
    await at.advance(1000);
    expect(urls.at(-1)).toContain('id=other&id=plan');
    follower.crash();
    at.server.cutStreams();
    await at.advance(5000);
    expect(urls.at(-1)).not.toContain('id=other');
  });

  it('do not make a stream that fails be tried more often', async () => {
    const at = stage();
    let tries = 0;
    for (let i = 0; i < 5; i += 1) {
      const page = at.browser.openPage();
      const { openStream } = page.environment;
      Object.assign(page.environment, {
        openStream: (...args: Parameters<typeof openStream>) => {
          tries += 1;
          return openStream(...args);
        },
      });
      await at.open(page);
    }
    await at.advance(1000);
    at.browser.cutNetwork();
    at.server.cutStreams();
    tries = 0;
    await at.advance(60_000);
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(10);
  });

  it('have a stream each where there are no locks, and drafts are offered', async () => {
    const at = stage({ withLocks: false });
    const { session, page } = await at.open();
    await at.open();
    await at.advance(1000);
    expect(at.server.streams()).toBe(2);
    at.browser.goOffline();
    session.edit(a);
    await at.advance(300);
    page.crash();
    at.browser.goOnline();
    const { session: next } = await at.open();
    expect(next.getSnapshot().siblings).toMatchObject([{ alive: false, content: a }]);
  });

  it('read again when the stream was away', async () => {
    const at = stage();
    const { session } = await at.open();
    await at.advance(1000);
    at.server.cutStreams();
    at.wire.saveAs('plan', 'bob', b);
    await settle();
    expect(session.getSnapshot().version).toBe(1);
    await at.advance(5000);
    expect(session.getSnapshot()).toMatchObject({ version: 2, content: b });
  });
});
