// The plan as bytes: what has the same hash, what has another, and what is refused because it could
// not be kept as it is.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  argumentsFault,
  canonicalText,
  planHash,
  planText,
} from '../../../services/proposals/plan.ts';
import { seedOfRun } from '../../support/properties.ts';

const plan = (...all: readonly unknown[]) =>
  all.map((given) => ({ tool: 'note.write', version: 1, arguments: canonicalText(given) }));
const hashOf = (text: string) => planHash(plan(JSON.parse(text)));

describe('the hash of a plan', () => {
  it.each([
    ['keys', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['whitespace', '{"a":[1,2]}', ' {\n"a" : [ 1,\t2 ] } '],
    ['how a number is written', '{"n":100}', '{"n":1.0e2}'],
    ['how a character is escaped', '{"t":"ü/"}', '{"t":"\\u00fc\\/"}'],
    ['minus nothing', '{"n":0}', '{"n":-0}'],
    ['a key that stands twice, whose last counts', '{"a":2}', '{"a":1,"a":2}'],
  ])('is the same for another order or form: %s', (_, one, other) => {
    expect(hashOf(one)).toBe(hashOf(other));
  });

  it.each([
    ['a value', '{"a":1}', '{"a":2}'],
    ['a kind', '{"a":1}', '{"a":"1"}'],
    ['null and nothing', '{"a":null}', '{}'],
    ['the order of a list', '[1,2]', '[2,1]'],
    ['a key of every object', '{"__proto__":1}', '{}'],
    ['a text in another form of Unicode', '"\\u00fc"', '"u\\u0308"'],
  ])('is another for %s', (_, one, other) => {
    expect(hashOf(one)).not.toBe(hashOf(other));
  });

  it('is another for another tool, version, order or number of steps', () => {
    const [one, two] = plan(1, 2);
    if (!one || !two) throw new Error('there are two steps');
    const plans = [
      ...[[one, two], [two, one], [one], [one, two, two]],
      ...[
        [{ ...one, version: 2 }, two],
        [{ ...one, tool: 'note.delete' }, two],
      ],
    ];
    expect(new Set(plans.map(planHash)).size).toBe(plans.length);
  });

  it('is of a text that is canonical as a whole', () => {
    const seed = seedOfRun('plans');
    const value = fc.jsonValue().filter((each) => argumentsFault(each) === undefined);
    fc.assert(
      fc.property(fc.array(value), (given) => {
        const text = planText(plan(...given));
        expect(canonicalText(JSON.parse(text))).toBe(text);
        expect(planHash(plan(...given.map((each) => JSON.parse(JSON.stringify(each)))))).toBe(
          planHash(plan(...given)),
        );
      }),
      { seed },
    );
  });
});

describe('arguments', () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  it.each<[string, unknown]>([
    ['not_json', { n: Number.NaN }],
    ['not_json', [Number.POSITIVE_INFINITY]],
    ['not_json', { id: 10n }],
    ['not_json', new Date(0)],
    ['not_json', { f: () => 1 }],
    ['missing', undefined],
    ['too_deep', deep(101)],
    ['too_deep', cycle],
    ['unsafe_integer', { id: 2 ** 53 }],
    ['nul', { 'a\u0000': 1 }],
    ['lone_surrogate', ['\ud800']],
    ['too_long', 'x'.repeat(300_000)],
  ])('are refused: %s', (fault, given) => {
    expect(argumentsFault(given)).toBe(fault);
  });

  it.each([[null], [0], ['ü😀'], [{ a: [] }], [deep(99)], [-1.5]])('are taken: %#', (given) => {
    expect(argumentsFault(given)).toBeUndefined();
  });
});
