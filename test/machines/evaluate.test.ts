// What each node of the vocabulary means, as tables that can be read next to SQL's own.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluate, type Scope } from '../../machines/evaluate.ts';
import {
  actor,
  and,
  backoff,
  clock,
  coalesce,
  col,
  eq,
  field,
  greatest,
  increment,
  isNull,
  least,
  lit,
  lt,
  lte,
  type Node,
  ne,
  not,
  or,
  // The linter takes a bare `after` for a hook of a test.
  after as timeAfter,
} from '../../machines/vocabulary.ts';

const scope: Scope = {
  row: { losses: 3, note: 'kept', empty: null, until: 2_000_000 },
  fields: { reason: 'late' },
  at: 1_700_000_000_123_456,
  dice: 0.5,
  actor: 'ada',
};
const meaning = (node: Node, more: Partial<Scope> = {}) => evaluate(node, { ...scope, ...more });

type Truth = true | false | null;
const truths: readonly Truth[] = [true, false, null];

describe('three-valued logic', () => {
  it.each<[Truth, Truth, Truth, Truth]>([
    // a, b, a and b, a or b
    [true, true, true, true],
    [true, false, false, true],
    [true, null, null, true],
    [false, true, false, true],
    [false, false, false, false],
    [false, null, false, null],
    [null, true, null, true],
    [null, false, false, null],
    [null, null, null, null],
  ])('of %s and %s is that of SQL', (a, b, both, either) => {
    expect(meaning(and(lit(a), lit(b)))).toBe(both);
    expect(meaning(or(lit(a), lit(b)))).toBe(either);
  });

  it.each<[Truth, Truth]>([
    [true, false],
    [false, true],
    [null, null],
  ])('turns %s into %s', (a, negated) => {
    expect(meaning(not(lit(a)))).toBe(negated);
  });

  it('does not depend on how three conditions are put together', () => {
    const triples = truths.flatMap((a) => truths.flatMap((b) => truths.map((c) => [a, b, c])));
    expect(triples).toHaveLength(27);
    for (const [a = null, b = null, c = null] of triples) {
      const [p, q, r] = [lit(a), lit(b), lit(c)];
      expect(meaning(and(p, q, r))).toBe(meaning(and(and(p, q), r)));
      expect(meaning(or(p, q, r))).toBe(meaning(or(p, or(q, r))));
      expect(meaning(not(and(p, q, r)))).toBe(meaning(or(not(p), not(q), not(r))));
    }
  });
});

describe('null', () => {
  const unknown = lit(null);

  it.each<[string, Node]>([
    ['eq', eq(unknown, lit(1))],
    ['eq of two nulls', eq(unknown, unknown)],
    ['ne', ne(lit(1), unknown)],
    ['lt', lt(unknown, lit(1))],
    ['lte', lte(lit(1), unknown)],
    ['not', not(unknown)],
    ['increment', increment(unknown)],
    ['after no time', timeAfter(unknown, lit(1))],
    ['after a time unknown', timeAfter(clock, unknown)],
    ['backoff', backoff(unknown, 1000, 2000)],
    ['coalesce of nulls', coalesce(unknown, col('empty'))],
    ['least of nulls', least(unknown, unknown)],
    ['greatest of nulls', greatest(unknown)],
    ['a column that the row does not have', col('nobody')],
    ['a field that was not sent', field('nobody')],
  ])('comes out of %s', (_, node) => {
    expect(meaning(node)).toBeNull();
  });

  it.each<[string, Node, unknown]>([
    ['coalesce', coalesce(unknown, col('empty'), lit('first'), lit('second')), 'first'],
    ['coalesce of false', coalesce(lit(false), lit(true)), false],
    ['least', least(unknown, lit(3), lit(2)), 2],
    ['greatest', greatest(lit(2), unknown, lit(3)), 3],
    ['isNull', isNull(col('empty')), true],
    ['isNull of a value', isNull(col('note')), false],
  ])('is passed over by %s', (_, node, value) => {
    expect(meaning(node)).toBe(value);
  });
});

describe('a value', () => {
  it('is null where nobody is named as the actor', () => {
    expect(evaluate(actor, { row: {}, fields: {}, at: 0, dice: 0 })).toBeNull();
  });

  it.each<[string, Node, unknown]>([
    ['a column', col('note'), 'kept'],
    ['a field', field('reason'), 'late'],
    ['the clock', clock, 1_700_000_000_123_456],
    ['the actor', actor, 'ada'],
    ['the actor, compared', ne(actor, col('note')), true],
    ['equal texts', eq(col('note'), lit('kept')), true],
    ['unequal texts', ne(col('note'), lit('kept')), false],
    ['less', lt(col('losses'), lit(4)), true],
    ['not less', lt(col('losses'), lit(3)), false],
    ['at most', lte(col('losses'), lit(3)), true],
    ['equal truths', eq(lit(false), lit(false)), true],
  ])('is read: %s', (_, node, value) => {
    expect(meaning(node)).toBe(value);
  });

  it.each([
    ['texts', lt(col('note'), lit('x'))],
    ['truths', lte(lit(false), lit(true))],
    ['a number and a text', lt(lit(1), lit('2'))],
  ] as const)('has no order: %s', (_, node) => {
    expect(() => meaning(node)).toThrow(/orders numbers and instants only/);
  });

  it('is a thousand microseconds later after a millisecond', () => {
    expect(meaning(timeAfter(col('until'), lit(1)))).toBe(2_001_000);
    expect(meaning(timeAfter(col('until'), lit(-2_000)))).toBe(0);
  });

  it.each([
    [3, 4],
    [-1, 0],
    [2_147_483_645, 2_147_483_646],
    [2_147_483_646, 2_147_483_647],
    [2_147_483_647, 2_147_483_647],
  ])('counts from %i to %i', (count, next) => {
    expect(meaning(increment(lit(count)))).toBe(next);
  });
});

describe('backoff', () => {
  const wait = (failures: number, dice: number) =>
    meaning(backoff(lit(failures), 1000, 3_600_000), { dice });

  it.each([
    // failures, at the least, at the most
    [0, 500, 1000],
    [1, 500, 2000],
    [2, 500, 4000],
    [11, 500, 2_048_000],
    [12, 500, 3_600_000],
    [31, 500, 3_600_000],
    [2_147_483_647, 500, 3_600_000],
    [-1, 500, 1000],
    [-2_147_483_648, 500, 1000],
  ])('after %i failures waits from %i to %i ms', (failures, shortest, longest) => {
    expect(wait(failures, 0)).toBe(shortest);
    const most = wait(failures, 1 - Number.EPSILON);
    expect(most).toBeGreaterThanOrEqual(longest - 1);
    expect(most).toBeLessThanOrEqual(longest);
  });

  it('stops to grow after thirty failures, where it has a cap beyond that', () => {
    const most = (failures: number) =>
      meaning(backoff(lit(failures), 1, 2_147_483_647), { dice: 1 - Number.EPSILON });
    expect(most(29)).toBeLessThan(2 ** 29 + 1);
    expect(most(30)).toBe(most(31));
  });

  it('is whole milliseconds from half the base to the cap, whatever the failures', () => {
    const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const property = fc.property(
      int,
      dice,
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 0, max: 2 ** 31 - 100_001 }),
      (failures, thrown, base, beyond) => {
        const node = backoff(lit(failures), base, base + beyond);
        const ms = Number(meaning(node, { dice: thrown }));
        expect(Number.isInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(Math.floor(base / 2));
        expect(ms).toBeLessThanOrEqual(base + beyond);
      },
    );
    // A failure prints the seed and the path to run it again.
    fc.assert(property, { numRuns: 1000, verbose: true });
  });

  it('never gets shorter with more failures', () => {
    const failures = fc.integer({ min: -5, max: 40 });
    const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(failures, dice, (n, thrown) => {
        expect(Number(wait(n + 1, thrown))).toBeGreaterThanOrEqual(Number(wait(n, thrown)));
      }),
      { verbose: true },
    );
  });
});
