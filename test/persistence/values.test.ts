import { describe, expect, it } from 'vitest';
import type { Declared } from '../../machines/vocabulary.ts';
import { bound, isUuid, valueFault } from '../../persistence/values.ts';

const id = '018f2f3e-0000-7000-8000-00000000abcd';

/** So many arrays inside each other, around a one. */
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

const cycle: { self?: unknown } = {};
cycle.self = cycle;
const twoCycles: unknown[] = [];
twoCycles.push(twoCycles, twoCycles);

describe('a good value', () => {
  it.each<[Declared, unknown]>([
    ['int', 0],
    ['int', -0],
    ['int', 2_147_483_647],
    ['int', -2_147_483_648],
    ['instant', 1_700_000_000_123_456],
    ['instant', -1],
    ['text', ''],
    ['text', "it's $$ \\ “quoted” 😀\n"],
    ['bool', false],
    ['uuid', id],
    ['uuid', id.toUpperCase()],
    ['json', {}],
    ['json', 'a text'],
    ['json', false],
    ['json', { list: [1, null, { deep: 'x' }] }],
    ['json', Object.assign(Object.create(null), { bare: true })],
    ['json', nested(100)],
    ['int?', null],
    ['json?', undefined],
  ])('of kind %s has no fault: %j', (declared, value) => {
    expect(valueFault(value, declared)).toBeUndefined();
  });
});

describe('a bad value', () => {
  it.each<[string, Declared, unknown, string]>([
    ['nothing', 'int', null, 'missing'],
    ['undefined', 'text', undefined, 'missing'],
    ['a text for an int', 'int', '5', 'wrong_kind'],
    ['a BigInt', 'int', 5n, 'wrong_kind'],
    ['not a number', 'int', Number.NaN, 'out_of_range'],
    ['infinity', 'int', Number.POSITIVE_INFINITY, 'out_of_range'],
    ['a half', 'int', 0.5, 'out_of_range'],
    ['one too many', 'int', 2_147_483_648, 'out_of_range'],
    ['one too few', 'int', -2_147_483_649, 'out_of_range'],
    ['a Date', 'instant', new Date(0), 'wrong_kind'],
    ['a printed instant', 'instant', '1970-01-01', 'wrong_kind'],
    ['half a microsecond', 'instant', 0.5, 'out_of_range'],
    ['an inexact instant', 'instant', 2 ** 53, 'out_of_range'],
    ['the end of time', 'instant', Number.POSITIVE_INFINITY, 'out_of_range'],
    ['a number', 'text', 5, 'wrong_kind'],
    ['a String object', 'text', Object('x'), 'wrong_kind'],
    ['NUL', 'text', 'a\u0000', 'nul'],
    ['half a face', 'text', '\ud83d', 'lone_surrogate'],
    ['20 MB', 'text', 'x'.repeat(20_000_000), 'too_long'],
    ['a number', 'bool', 1, 'wrong_kind'],
    ['no uuid', 'uuid', 'abc', 'wrong_kind'],
    ['a uuid in braces', 'uuid', `{${id}}`, 'wrong_kind'],
    ['a uuid and a line end', 'uuid', `${id}\n`, 'wrong_kind'],
  ])('is named: %s for %s', (_, declared, value, fault) => {
    expect(valueFault(value, declared)).toBe(fault);
  });
});

describe('bad json', () => {
  it.each<[string, unknown, string]>([
    ['nothing', null, 'missing'],
    ['a function', () => 1, 'not_json'],
    ['a function inside', { run: () => 1 }, 'not_json'],
    ['undefined inside', { gone: undefined }, 'not_json'],
    ['a symbol', Symbol('x'), 'not_json'],
    ['a BigInt', { n: 1n }, 'not_json'],
    ['not a number', [Number.NaN], 'not_json'],
    ['infinity', [Number.NEGATIVE_INFINITY], 'not_json'],
    ['a Date', { at: new Date(0) }, 'not_json'],
    ['a Map', new Map(), 'not_json'],
    ['a class', new (class Thing {})(), 'not_json'],
    ['its own toJSON', { toJSON: () => 1 }, 'not_json'],
    ['NUL in a value', { a: ['\u0000'] }, 'nul'],
    ['NUL in a key', { 'a\u0000': 1 }, 'nul'],
    ['half a face in a key', { '\ud83d': 1 }, 'lone_surrogate'],
    ['101 levels', nested(101), 'too_deep'],
    ['50,000 levels', JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), 'too_deep'],
    ['a cycle', cycle, 'too_deep'],
    ['two cycles', twoCycles, 'too_deep'],
    ['20 MB in one text', { text: 'x'.repeat(20_000_000) }, 'too_long'],
    ['20 MB in many', Array.from({ length: 20 }, () => 'x'.repeat(1_000_000)), 'too_long'],
  ])('is named: %s', (_, value, fault) => {
    expect(valueFault(value, 'json')).toBe(fault);
  });

  it('is looked for under every own key, that of prototypes among them', () => {
    const hostile: unknown = JSON.parse('{"__proto__": {"text": "a\\u0000"}, "constructor": 1}');
    expect(valueFault(hostile, 'json')).toBe('nul');
  });
});

describe('bound', () => {
  it.each<[Declared, unknown, unknown]>([
    ['int', 5, 5],
    ['text', 'x', 'x'],
    ['bool', false, false],
    ['uuid', id, id],
    ['instant', 1, '1970-01-01T00:00:00.000001Z'],
    ['json', { a: [1] }, '{"a":[1]}'],
    ['json', 'x', '"x"'],
    ['text?', undefined, null],
    ['json?', null, null],
  ])('makes of %s %j what the driver sends', (declared, value, sent) => {
    expect(bound(value, declared)).toEqual(sent);
  });

  it('keeps a key that is called like a prototype', () => {
    expect(bound(JSON.parse('{"__proto__": 1}'), 'json')).toBe('{"__proto__":1}');
  });
});

describe('isUuid', () => {
  it('tells an id from everything else', () => {
    expect([id, 'x', 5, null, [id]].map(isUuid)).toEqual([true, false, false, false, false]);
  });
});
