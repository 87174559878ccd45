// The text of a draft: whole, or put away and kept.

import { describe, expect, it } from 'vitest';
import { checksum, decodeDraft, encodeDraft } from '../../client/draft-record.ts';
import { attributes, stage } from '../support/sessions.ts';

const a = attributes({ a: 1 });

describe('the text of a draft', () => {
  const head = { kind: 'k', user: 'u', document: 'd', writer: 'w', base: 1, counter: 1, at: 0 };
  const key = 'fencepost:draft:record:ada:plan:old';

  it('comes back as it was', () => {
    expect(decodeDraft(encodeDraft(head, a))).toEqual({
      type: 'draft',
      draft: { ...head, content: a, size: JSON.stringify(a).length },
    });
    expect(checksum('a')).toBe(0xe40c292c);
  });

  it.each([
    ['a brace', '{'],
    ['nothing', ''],
    ['null', 'null'],
    ['half of it', encodeDraft(head, a).slice(0, -3)],
    ['a changed content', encodeDraft(head, a).replace(/1\}\}$/, '2}}')],
    ['6 MB of rubbish', 'x'.repeat(6_000_000)],
    ['a head without a content', '{"schema":1}\n{}'],
  ])('is broken: %s', (_, text) => {
    expect(decodeDraft(text)).toEqual({ type: 'broken' });
  });

  it('of another schema is left to the code that knows it', async () => {
    const at = stage();
    const text = encodeDraft(head, a).replace('"schema":1', '"schema":2');
    expect(decodeDraft(text)).toEqual({ type: 'unknown-schema' });
    at.browser.storage.setItem(key, text);
    const { session } = await at.open();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', siblings: [] });
    expect(at.browser.storage.getItem(key)).toBe(text);
  });

  it('that is broken is put away and kept', async () => {
    const at = stage();
    at.browser.storage.setItem(key, '{');
    const { session } = await at.open();
    expect(session.getSnapshot()).toMatchObject({ status: 'saved', siblings: [] });
    expect(at.browser.storage.entries()).toEqual([[`fencepost:quarantine:${key}`, '{']]);
  });

  it('that is of another document or user than its key says is put away', async () => {
    const at = stage();
    at.browser.storage.setItem(key, encodeDraft({ ...head, kind: 'record', writer: 'old' }, a));
    const { session } = await at.open();
    expect(session.getSnapshot().siblings).toEqual([]);
    expect(at.drafts()).toEqual([]);
  });

  it('that was torn is found in the mirror', async () => {
    const at = stage();
    const { session, page } = await at.open();
    at.browser.goOffline();
    session.edit(a);
    await at.advance(200);
    at.browser.storage.tear();
    await at.advance(100);
    page.crash();
    at.browser.goOnline();
    const { session: next } = await at.open();
    expect(next.getSnapshot().siblings).toMatchObject([{ content: a }]);
  });
});
