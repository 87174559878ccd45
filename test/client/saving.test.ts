// The save queue: one save at a time, nothing that was typed meanwhile forgotten, and an answer
// that speaks for what was sent.

import { describe, expect, it } from 'vitest';
import { gate, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, draftContent, stage } from '../support/sessions.ts';

const [a, b, c] = [attributes({ a: 1 }), attributes({ a: 2 }), attributes({ a: 3 })];

describe('saving', () => {
  it('saves an edit after a pause, against the version that it was made from', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(a);
    expect(session.getSnapshot().status).toBe('dirty');
    await at.advance(debounceMs - 1);
    expect(at.server.puts()).toHaveLength(0);
    await at.advance(1);
    expect(at.server.puts().map(({ body }) => body['expectedVersion'])).toEqual([1]);
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', version: 2, safe: 'server' });
    expect(at.stored().content).toEqual(a);
  });

  it('saves at the latest 5 s after the first edit, however long the typing', async () => {
    const at = stage();
    const { session } = await at.open();
    for (let i = 0; i < 51; i += 1) {
      session.edit(attributes({ a: i }));
      await at.advance(100);
    }
    expect(at.server.puts()).toHaveLength(1);
  });

  it('keeps what was typed during a save, and saves it without another edit', async () => {
    const at = stage();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    await at.advance(debounceMs);
    session.edit(b);
    const seen: string[] = [];
    session.subscribe(({ status }) => seen.push(status));
    held.open();
    await settle();
    expect(session.getSnapshot()).toMatchObject({ content: b, status: 'dirty', unsaved: true });
    expect(seen).not.toContain('saved');
    expect(draftContent(at)).toEqual(a);
    await at.advance(300);
    expect(draftContent(at)).toEqual(b);
    await at.advance(debounceMs);
    expect(at.server.puts().map(({ body }) => [body['content'], body['expectedVersion']])).toEqual([
      [a, 1],
      [b, 2],
    ]);
    expect(session.getSnapshot()).toMatchObject({ content: b, status: 'saved', version: 3 });
  });

  it('never has two saves open, and ends with the last edit, when answers are slow', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.always((method) => (method === 'PUT' ? { type: 'slow', ms: 1000 } : undefined));
    let most = 0;
    for (let i = 0; i < 60; i += 1) {
      session.edit(attributes({ a: i }));
      await at.advance(100);
      most = Math.max(most, at.server.puts().filter(({ status }) => status === undefined).length);
    }
    await at.advance(10_000);
    expect(most).toBe(1);
    expect(at.stored().content).toEqual(attributes({ a: 59 }));
    expect(session.getSnapshot().status).toBe('saved');
  });

  it('makes one save of two flushes in a tick, and answers both with its version', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(a);
    const both = await Promise.all([session.flush(), session.flush()]);
    expect(at.server.puts()).toHaveLength(1);
    expect(both).toEqual([
      { outcome: 'saved', version: 2 },
      { outcome: 'saved', version: 2 },
    ]);
  });

  it('answers a flush only when what was typed meanwhile is saved too', async () => {
    const at = stage();
    const { session } = await at.open();
    const held = gate();
    at.server.script('PUT', { type: 'hold', until: held.until });
    session.edit(a);
    session.flush();
    session.edit(b);
    const flushed = session.flush();
    held.open();
    expect(await flushed).toEqual({ outcome: 'saved', version: 3 });
    expect(at.stored().content).toEqual(b);
  });

  it('sends the newer content although the older one was refused', async () => {
    const at = stage();
    const { session } = await at.open();
    at.server.script('PUT', { type: 'reply', status: 422, body: { code: 'invalid_content' } });
    session.edit(a);
    const flushed = session.flush();
    session.edit(b);
    await flushed;
    await at.advance(debounceMs);
    expect(at.stored().content).toEqual(b);
    expect(session.getSnapshot().status).toBe('saved');
  });

  it.each([400, 413, 422])('sends a content that is refused with %i once', async (status) => {
    const at = stage();
    const { session } = await at.open();
    const body = { code: 'no', detail: 'No.', limit: 10, errors: [{ pointer: '/attributes/a' }] };
    at.server.always((method) => (method === 'PUT' ? { type: 'reply', status, body } : undefined));
    session.edit(a);
    await at.advance(600_000);
    expect(at.server.puts()).toHaveLength(1);
    expect(session.getSnapshot()).toMatchObject({
      status: 'blocked',
      safe: 'draft',
      problem: { code: 'no', limit: 10, pointers: ['/attributes/a'] },
    });
    session.edit(b);
    await at.advance(600_000);
    expect(at.server.puts()).toHaveLength(2);
  });

  it('does not take what the server makes of a content for a change', async () => {
    const at = stage({ normalise: () => attributes({ a: 'normalised' }) });
    const { session } = await at.open();
    session.edit(a);
    await at.advance(600_000);
    expect(at.server.puts()).toHaveLength(1);
    session.edit(c);
    await at.advance(debounceMs);
    expect(at.conflicts).toEqual([]);
    expect(at.server.puts().at(-1)?.body['expectedVersion']).toBe(2);
  });

  it.each([9, 10, 2 ** 53 - 1])('counts versions as integers: %i', async (version) => {
    const at = stage();
    const stored = at.wire.stored('plan');
    stored.revisions.push({ ...at.stored(), version });
    const { session } = await at.open();
    session.edit(a);
    await at.advance(debounceMs);
    expect(at.server.puts()[0]?.body['expectedVersion']).toBe(version);
  });

  it.each([
    ['NaN', Number.NaN],
    ['undefined', undefined],
    ['a date', new Date(0)],
    ['a BigInt', 1n],
    ['NUL', '\u0000'],
    ['half an emoji', '\ud83d'],
  ])('says which place is no content: %s', async (_, value) => {
    const at = stage();
    const { session } = await at.open();
    session.edit({ attributes: { price: value } });
    await at.advance(600_000);
    expect(at.server.puts()).toHaveLength(0);
    expect(session.getSnapshot()).toMatchObject({
      status: 'blocked',
      problem: { pointers: ['/attributes/price'] },
    });
  });

  it('refuses an edit before there is a content, and by a holder that was closed', async () => {
    const at = stage();
    const page = at.browser.openPage();
    const session = at.openNow(page);
    expect(() => session.edit(a)).toThrow('not loaded');
    await settle();
    session.edit(a);
    await session.close();
    expect(() => session.edit(b)).toThrow('was closed');
  });
});
