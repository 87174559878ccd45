// What crosses the wire, looked at piece by piece: the stream of events, the budget of a dying
// page, and what an answer can mean.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepaliveBudget } from '../../client/keepalive.ts';
import { losslessCheck } from '../../client/lossless.ts';
import { abandonEvent, mayPass, readEvent, saveEvent } from '../../client/receipts.ts';
import { eventParser } from '../../client/sse.ts';
import type { Answer } from '../../client/transport.ts';
import { seedOfRun } from '../support/properties.ts';

describe('the stream of events', () => {
  const text =
    ': hello\r\nevent: version\r\ndata: {"id":\ndata:  1}\n\nid: 7\ndata: plain\n\nretry: 5\n\n';
  const events = [
    { type: 'version', data: '{"id":\n 1}' },
    { type: 'message', data: 'plain' },
  ];
  const parsed = (pieces: readonly string[]) => {
    const heard: unknown[] = [];
    const parse = eventParser((event) => heard.push(event));
    for (const piece of pieces) parse(piece);
    return heard;
  };

  it('is read by the rules of the standard', () => {
    expect(parsed([text])).toEqual(events);
  });

  it('is the same in whatever pieces it comes', () => {
    const cuts = fc.array(fc.nat(text.length), { maxLength: 20 });
    const same = fc.property(cuts, (places) => {
      const sorted = [0, ...places.toSorted((a, b) => a - b), text.length];
      const pieces = sorted.slice(1).map((end, i) => text.slice(sorted[i], end));
      expect(parsed(pieces)).toEqual(events);
    });
    fc.assert(same, { seed: seedOfRun('stream of events'), numRuns: 300 });
  });
});

describe('the budget of a dying page', () => {
  it('is one for all requests, in bytes, and is given back', () => {
    const budget = keepaliveBudget();
    const first = budget.take('x'.repeat(40_000));
    expect(first).not.toBeNull();
    expect(budget.take('x'.repeat(25_537))).toBeNull();
    expect(budget.take('é'.repeat(12_768))).not.toBeNull();
    expect(budget.take('x')).toBeNull();
    first?.();
    expect(budget.take('x'.repeat(40_000))).not.toBeNull();
  });
});

describe('an answer', () => {
  const sent = { save: 1, saveId: 'mine' };
  const answered = (status: number, body: unknown): Answer => ({
    ...{ type: 'answered', status, body, waitMs: 0 },
  });
  const receipt = { saveId: 'mine', verdict: 'saved', version: 2, currentVersion: 2 };

  it.each<[string, unknown, string]>([
    ['a receipt', receipt, 'save.stored'],
    ['of a save that was overtaken', { ...receipt, version: null }, 'save.overtaken'],
    ['of another save', { ...receipt, saveId: 'other' }, 'save.unclear'],
    ['without a version', { ...receipt, version: undefined }, 'save.unclear'],
    ['with a version that is a text', { ...receipt, version: '2' }, 'save.unclear'],
    ['with a version that is none', { ...receipt, version: 1.5 }, 'save.unclear'],
    ['without the current version', { ...receipt, currentVersion: undefined }, 'save.unclear'],
    ['nothing', undefined, 'save.unclear'],
    ['null', null, 'save.unclear'],
  ])('with status 200 to a save: %s', (_, body, type) => {
    expect(saveEvent(answered(200, body), sent).type).toBe(type);
  });

  it.each([
    [400, {}, 'save.refused'],
    [401, {}, 'save.refused'],
    [403, {}, 'access.lost'],
    [404, { code: 'document_not_found' }, 'document.gone'],
    [404, '<html>', 'save.refused'],
    [409, { conflict: { version: 3 } }, 'save.conflicted'],
    [409, {}, 'save.refused'],
    [410, { code: 'document_gone' }, 'document.gone'],
    [412, { conflict: { version: 3 } }, 'save.conflicted'],
    [428, {}, 'save.refused'],
    [500, {}, 'save.unclear'],
    [599, {}, 'save.unclear'],
  ])('with status %i to a save', (status, body, type) => {
    expect(saveEvent(answered(status, body), sent).type).toBe(type);
  });

  it.each([
    ['a plan', { type: 'plan', proposal: 'p', step: 2 }, { proposal: 'p', step: 2 }],
    ['a person', { type: 'person' }, null],
    ['nobody that is named', undefined, null],
  ])('says that the version that came first was written by %s', (_, source, plan) => {
    const conflict = { version: 3, by: 'ada', source };
    const event = saveEvent(answered(409, { conflict }), sent);
    expect(event).toMatchObject({ type: 'save.conflicted', conflict: { by: 'ada', plan } });
  });

  it('may pass by what its status says, and by nothing else', () => {
    const passing = Array.from({ length: 500 }, (_, i) => i + 100).filter(mayPass);
    expect(passing.filter((status) => status < 500)).toEqual([408, 425, 429]);
    expect(passing).toHaveLength(103);
  });

  it.each<[string, Answer]>([
    ['broken', { type: 'broken', because: 'network' }],
    ['500', answered(500, {})],
    ['without a version', answered(200, { content: {} })],
    ['without a content', answered(200, { version: 1 })],
  ])('to a read is none: %s', (_, answer) => {
    expect(readEvent(answer, 3)).toEqual({ type: 'read.failed', sequence: 3 });
  });

  it.each<[string, unknown, string]>([
    ['whole', { abandoned: ['mine'], committed: [] }, 'saves.abandoned'],
    [
      'with a commit',
      { abandoned: [], committed: [{ saveId: 'mine', version: 2 }] },
      'saves.abandoned',
    ],
    ['that leaves a save out', { abandoned: [], committed: [] }, 'abandon.failed'],
    ['of another shape', {}, 'abandon.failed'],
  ])('to an abandon: %s', (_, body, type) => {
    expect(abandonEvent(answered(200, body), [sent]).type).toBe(type);
  });
});

describe('a content that JSON brings back', () => {
  it.each([
    [{ a: [1, 'b', null, true] }, true],
    [{ a: Number.NaN }, false],
    [{ a: undefined }, false],
    [{ a: new Date(0) }, false],
    [{ a: 1n }, false],
    [{ a: [Number.POSITIVE_INFINITY] }, false],
  ])('is told from one that it does not: %o', (content, is) => {
    expect(losslessCheck()(content)).toBe(is);
  });

  it('is looked through once, and where it nests too deep it is none', () => {
    const check = losslessCheck();
    let deep: unknown = 0;
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    expect(check(deep)).toBe(false);
    const large = { cells: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [i, [i]])) };
    expect(check(large)).toBe(true);
    expect(check({ ...large, more: 1 })).toBe(true);
  });
});
