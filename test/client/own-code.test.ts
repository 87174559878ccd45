// Code that is not the session's own and fails: a kind, a subscriber. It stops no session, and what
// it threw is reported to the page.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDocument } from '../../client/index.ts';
import { settle } from '../../client/testing/index.ts';
import type { Kind } from '../../kinds/kind.ts';
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
const failure = new Error('not ours');
let reported: unknown[] = [];

beforeEach(() => {
  reported = [];
  vi.stubGlobal('reportError', (error: unknown) => reported.push(error));
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe('a kind that fails at checking', () => {
  it('refuses the content, which stays in the draft, and the session goes on', async () => {
    const at = stage();
    let fails = true;
    const kind: Kind = {
      ...record,
      check: (content) => {
        if (fails) throw failure;
        return record.check(content);
      },
    };
    const { environment } = at.browser.openPage();
    const options = { url, id: documentId, user: 'ada', environment, onConflict: () => {} };
    const session = openDocument({ ...options, kind });
    await settle();
    session.edit(a);
    await at.advance(debounceMs);
    expect(session.getSnapshot()).toMatchObject({
      ...{ status: 'blocked', safe: 'draft', problem: { code: 'check_failed' } },
    });
    expect(reported).toEqual([failure]);
    fails = false;
    session.edit(b);
    await at.advance(debounceMs);
    expect(at.stored().content).toEqual(b);
  });
});

it('an effect that throws does not end the session', async () => {
  const at = stage({
    parts: {
      effects: (own) => ({
        ...own,
        abandon: () => {
          throw failure;
        },
      }),
    },
  });
  const { session } = await at.open();
  session.discardAndReload();
  session.edit(a);
  await at.advance(debounceMs);
  expect(reported).toEqual([failure]);
  expect(at.stored().content).toEqual(a);
});

describe('a copy', () => {
  it.each([
    ['a number that JSON makes null', Number.NaN, 'not_a_number'],
    ['what JSON refuses', 1n, 'not_json'],
  ])('is not made of %s', async (_, value, code) => {
    const at = stage();
    const { session } = await at.open();
    session.edit({ attributes: { a: value } });
    await at.advance(debounceMs);
    expect(await session.keepAsCopy('mine')).toMatchObject({
      outcome: 'failed',
      problem: { code },
    });
    expect(at.wire.ids()).toEqual([documentId]);
    expect(session.getSnapshot()).toMatchObject({ status: 'blocked', unsaved: true });
    expect(draftContent(at)).toEqual(code === 'not_json' ? undefined : { attributes: { a: null } });
  });
});

describe('a subscriber', () => {
  it('that throws keeps nobody else from being told, and no call from its answer', async () => {
    const at = stage();
    const { session } = await at.open();
    session.subscribe({
      next: () => {
        throw failure;
      },
    });
    const seen: unknown[] = [];
    session.subscribe({ next: ({ status }) => seen.push(status) });
    session.edit(a);
    expect(await session.flush()).toEqual({ outcome: 'saved', version: 2 });
    expect(seen).toContain('saved');
    expect(await session.close()).toBe('saved');
    expect(new Set(reported)).toEqual(new Set([failure]));
  });

  it('that edits twice loses neither edit, and its flush speaks for both', async () => {
    const at = stage();
    const { session } = await at.open();
    const add = (name: string) => (content: unknown) => ({
      attributes: { ...(content as { attributes: object }).attributes, [name]: 1 },
    });
    const answers: unknown[] = [];
    const stop = session.subscribe({
      next: ({ content }) => {
        if (content !== a) return;
        stop();
        session.edit(add('b'));
        session.edit(add('c'));
        answers.push(session.flush().then(() => at.stored().content));
      },
    });
    session.edit(a);
    expect(await Promise.all(answers)).toEqual([attributes({ a: 1, b: 1, c: 1 })]);
  });

  it('that lets go is told nothing more', async () => {
    const at = stage();
    const { session } = await at.open();
    const told: string[] = [];
    const second = { stop: () => {} };
    session.subscribe({ next: () => second.stop() });
    second.stop = session.subscribe({ next: () => told.push('second') });
    session.edit(a);
    expect(told).toEqual([]);
  });
});
