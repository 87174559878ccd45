// What no kind takes, with the place where it is.

import { describe, expect, it } from 'vitest';
import { kinds } from '../../kinds/all.ts';
import { deepest, jsonProblems, mostProblems } from '../../kinds/content.ts';

const half = '\ud83d';

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
}

const refused: Readonly<Record<string, readonly [unknown, string, string]>> = {
  'NUL in a text': [{ a: 'x\u0000' }, 'nul', '/a'],
  'NUL in a name': [{ 'x\u0000': 1 }, 'nul', '/x\u0000'],
  'half of a surrogate pair': [{ a: [half] }, 'lone_surrogate', '/a/0'],
  'half of a surrogate pair in a name': [{ [half]: 1 }, 'lone_surrogate', `/${half}`],
  NaN: [{ a: Number.NaN }, 'not_a_number', '/a'],
  Infinity: [{ a: Number.POSITIVE_INFINITY }, 'not_a_number', '/a'],
  undefined: [{ a: undefined }, 'not_json', '/a'],
  'a BigInt': [{ a: 1n }, 'not_json', '/a'],
  'a Date': [{ a: new Date(0) }, 'not_json', '/a'],
  'a function': [{ a: () => 1 }, 'not_json', '/a'],
  'a hole in a list': [{ a: new Array(1) }, 'not_json', '/a/0'],
  'a map': [new Map(), 'not_json', ''],
  nothing: [undefined, 'not_json', ''],
};

describe('a content', () => {
  it.each(Object.entries(refused))('is refused for %s, at its place', (_, [value, code, at]) => {
    expect(jsonProblems(value)).toMatchObject([{ code, pointer: at }]);
  });

  it('may be as deep as the limit and no deeper', () => {
    expect(jsonProblems(nested(deepest))).toEqual([]);
    expect(jsonProblems(nested(deepest + 1))).toMatchObject([{ code: 'too_deep' }]);
  });

  it('is refused for a depth that would exhaust the stack', () => {
    expect(jsonProblems(nested(100_000))).toMatchObject([{ code: 'too_deep' }]);
  });

  it('is told its first few problems only', () => {
    expect(jsonProblems(Array.from({ length: 1000 }, () => half))).toHaveLength(mostProblems);
  });

  it('may have whole emoji, control characters and every other text', () => {
    expect(jsonProblems({ a: '😀\u0001\u007f\u2028\ufffe' })).toEqual([]);
  });
});

describe.each(kinds.map((kind) => [kind.id, kind] as const))('the kind %s', (_, kind) => {
  it('takes its own empty content', () => {
    expect(kind.check(kind.empty)).toEqual([]);
  });

  it('answers whatever it is asked about', () => {
    for (const [value] of Object.values(refused)) expect(kind.check(value)).not.toEqual([]);
    for (const value of [null, 1, 'x', [], {}, [[]]]) expect(kind.check(value)).not.toEqual([]);
  });

  it('says of a content beside itself that nothing changes', () => {
    expect(kind.describe(kind.empty, kind.empty)).toBe('changes nothing');
  });
});
