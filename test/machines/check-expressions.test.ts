// Every expression that a declaration refuses at load, put where it could stand: in a guard, in an
// effect, in a check of the row.

import { describe, expect, it } from 'vitest';
import { checkMachine } from '../../machines/check.ts';
import { kindOf } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
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
  set,
  // The linter takes a bare `after` for a hook of a test.
  after as timeAfter,
  when,
} from '../../machines/vocabulary.ts';
import { errand, withArrows } from './errand.ts';

const guarded = (node: Node) =>
  withArrows('open', 'cancel', { guard: when({ odd: node }), target: 'done' });
const setting = (column: string, node: Node) =>
  withArrows('open', 'cancel', { target: 'done', actions: set({ [column]: node }) });
const place = 'machine "errand": "open" on "cancel": ';
const load = (machine: Machine) => () => checkMachine(machine);

describe('a guard', () => {
  it.each<[string, Node, string]>([
    ['an unknown column', col('nobody'), 'there is no column "nobody"'],
    ['an actor for a condition', actor, 'is text, not bool'],
    ['an actor that is compared with a number', eq(actor, lit(1)), 'mixes text and int'],
    ['a name of every object', col('constructor'), 'there is no column "constructor"'],
    ['an unknown field', field('nobody'), 'there is no field "nobody"'],
    ['a field of another event', eq(field('owner'), lit('x')), 'there is no field "owner"'],
    ['no condition', col('note'), 'is text, not bool'],
    ['a number for a condition', increment(col('losses')), 'is int, not bool'],
    ['two kinds compared', eq(col('note'), col('losses')), 'mixes text and int'],
    ['two kinds unequal', ne(col('urgent'), col('losses')), 'mixes bool and int'],
    ['an instant against a number', lt(col('until'), lit(0)), 'mixes instant and int'],
    ['ordered texts', lt(col('note'), lit('b')), 'takes int or instant, not text'],
    ['ordered truths', lte(col('urgent'), lit(true)), 'takes int or instant, not bool'],
    [
      'compared json',
      eq(col('plan'), col('plan')),
      'takes int or text or bool or instant or uuid, not json',
    ],
    ['a number in and', and(col('urgent'), col('losses')), 'mixes bool and int'],
    ['a text in or', or(lit('x')), 'takes bool, not text'],
    ['the negation of a number', not(col('losses')), 'takes bool, not int'],
    ['dice', lt(backoff(col('losses'), 1, 2), lit(1)), 'a guard uses no dice'],
    ['dice deep inside', not(isNull(backoff(lit(1), 1, 2))), 'a guard uses no dice'],
    ['an empty and', and(), 'an operator has no operands'],
    ['an empty or inside', not(or()), 'an operator has no operands'],
  ])('is refused with %s', (_, node, mistake) => {
    expect(load(guarded(node))).toThrow(`${place}guard "odd": ${mistake}`);
  });

  it('may be a bare null, which never holds', () => {
    expect(load(guarded(lit(null)))).not.toThrow();
  });
});

describe('an effect', () => {
  it.each<[string, string, Node, string]>([
    ['a text for a number', 'losses', field('reason'), 'is text, not int'],
    ['a number for an instant', 'next_at', lit(0), 'is int, not instant'],
    ['a truth for a text', 'note', col('urgent'), 'is bool, not text'],
    ['half a number', 'losses', lit(0.5), 'is no int4'],
    ['not a number', 'losses', lit(Number.NaN), 'is no int4'],
    ['too large a number', 'losses', lit(2_147_483_648), 'is no int4'],
    ['too small a number', 'losses', lit(-2_147_483_648), 'is no int4'],
    ['the increment of a text', 'losses', increment(col('note')), 'takes int, not text'],
    ['a time after a number', 'next_at', timeAfter(lit(1), lit(1)), 'takes instant, not int'],
    ['a time after by a time', 'next_at', timeAfter(clock, clock), 'takes int, not instant'],
    ['backoff of a text', 'losses', backoff(col('note'), 1, 2), 'takes int, not text'],
    ['backoff from nothing', 'losses', backoff(lit(1), 0, 2), 'backoff takes 1 ≤ base ≤ cap'],
    ['backoff with a cap below', 'losses', backoff(lit(1), 3, 2), 'backoff takes 1 ≤ base ≤ cap'],
    ['backoff in halves', 'losses', backoff(lit(1), 1.5, 2), 'backoff takes 1 ≤ base ≤ cap'],
    [
      'backoff beyond int4',
      'losses',
      backoff(lit(1), 1, 2_147_483_648),
      'backoff takes 1 ≤ base ≤ cap',
    ],
    ['a mixed coalesce', 'note', coalesce(col('note'), lit(1)), 'mixes text and int'],
    ['an empty coalesce', 'note', coalesce(), 'an operator has no operands'],
    ['the least of texts', 'note', least(col('note')), 'takes int or instant, not text'],
    ['the greatest of json', 'plan', greatest(col('plan')), 'takes int or instant, not json'],
    ['the least of nothing', 'losses', least(), 'an operator has no operands'],
  ])('is refused with %s', (_, column, node, mistake) => {
    expect(load(setting(column, node))).toThrow(`${place}set "${column}": ${mistake}`);
  });

  it('may be a bare null for every kind', () => {
    for (const column of ['note', 'plan', 'losses', 'urgent']) {
      expect(load(setting(column, lit(null)))).not.toThrow();
    }
  });
});

describe('a check of the row', () => {
  it.each<[string, Node, string]>([
    ['no condition', col('losses'), 'is int, not bool'],
    ['a field, which no row has', field('reason'), 'there is no field "reason"'],
    ['an unknown column', isNull(col('nobody')), 'there is no column "nobody"'],
  ])('is refused with %s', (_, node, mistake) => {
    const machine = { ...errand, checks: { odd: node } };
    expect(load(machine)).toThrow(`machine "errand": check "odd": ${mistake}`);
  });
});

describe('kindOf', () => {
  const names = { columns: errand.columns, fields: {} };

  it.each<[string, Node, string | undefined]>([
    ['a nullable column', col('note'), 'text'],
    ['a uuid', col('parent'), 'uuid'],
    ['json', col('plan'), 'json'],
    ['the clock', clock, 'instant'],
    ['a bare null', lit(null), undefined],
    ['the increment of null', increment(lit(null)), 'int'],
    ['the first known operand', coalesce(lit(null), col('until')), 'instant'],
    ['the least of instants', least(col('until'), clock), 'instant'],
    ['a comparison', eq(lit(null), lit(null)), 'bool'],
  ])('finds the kind of %s', (_, node, kind) => {
    expect(kindOf(node, names)).toBe(kind);
  });
});

describe('the actor', () => {
  const named = ne(actor, col('title'));

  it('is known to an operator, in guards and in effects', () => {
    const guard = when({ own: named });
    const actions = set({ note: actor });
    expect(load(withArrows('open', 'cancel', { guard, target: 'done', actions }))).not.toThrow();
  });

  it.each([
    ['an owner', withArrows('held', 'finish', { target: 'done', actions: set({ note: actor }) })],
    [
      'an owner in a guard',
      withArrows('held', 'finish', { guard: when({ own: named }), target: 'done' }),
    ],
  ])('is not known to %s', (_, machine) => {
    expect(load(machine)).toThrow("only an operator's event knows an actor, this is by owner");
  });

  it('is not known to a check of the row', () => {
    const machine = { ...errand, checks: { own: named } };
    expect(load(machine)).toThrow('check "own": a check knows no actor');
  });
});
