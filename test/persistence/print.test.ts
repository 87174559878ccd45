// The texts of the vocabulary. That they mean what `evaluate` says is for tests with a database;
// here it is that they quote, cast and name what they should.

import { describe, expect, it } from 'vitest';
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
  type Node,
  ne,
  not,
  or,
  // The linter takes a bare `after` for a hook of a test.
  after as timeAfter,
} from '../../machines/vocabulary.ts';
import {
  arrayTypeOf,
  identifier,
  literal,
  type Places,
  print,
  printAll,
  qualified,
} from '../../persistence/print.ts';
import { errand } from '../machines/errand.ts';

const places: Places = {
  names: { columns: errand.columns, fields: { wait: 'int', why: 'text?', body: 'json' } },
  col: (name) => `r.${identifier(name)}`,
  field: (name) => `e.${identifier(name)}`,
  clock: 'b.at',
  actor: 'b.actor',
  dice: 'b.dice',
};

describe('print', () => {
  it.each<[string, Node]>([
    ['r."note"', col('note')],
    ['e."why"', field('why')],
    ['b.at', clock],
    ['b.actor', actor],
    ['(b.actor <> r."note")', ne(actor, col('note'))],
    ["'it''s'::text", lit("it's")],
    ['5::int4', lit(5)],
    ['-5::int4', lit(-5)],
    ['true::bool', lit(true)],
    ['null', lit(null)],
    ['(r."note" = e."why")', eq(col('note'), field('why'))],
    ['(r."until" = null::timestamptz)', eq(col('until'), lit(null))],
    ['(null::timestamptz < b.at)', lt(lit(null), clock)],
    ['(r."losses" < 3::int4)', lt(col('losses'), lit(3))],
    ['(r."holder" is null)', isNull(col('holder'))],
    ['(not r."urgent")', not(col('urgent'))],
    ['(r."urgent" and null::bool)', and(col('urgent'), lit(null))],
    ['(true::bool or r."urgent")', or(lit(true), col('urgent'))],
    ['coalesce(e."why", null::text)', coalesce(field('why'), lit(null))],
    ['least(r."losses", 3::int4)', least(col('losses'), lit(3))],
    ['greatest(r."until", null::timestamptz)', greatest(col('until'), lit(null))],
    [`(b.at + e."wait" * interval '1 millisecond')`, timeAfter(clock, field('wait'))],
  ])('writes %s', (text, node) => {
    expect(print(node, places)).toBe(text);
  });

  it('types a bare null by what is wanted', () => {
    expect(print(lit(null), places, 'json')).toBe('null::jsonb');
  });

  it('bounds a count so that its increment is an int4', () => {
    const count = 'r."losses"';
    expect(print(increment(col('losses')), places)).toBe(
      `(case when ${count} < 2147483647 then ${count} + 1 else ${count} end)`,
    );
  });

  it('waits by the dice of the row', () => {
    const text = print(backoff(col('losses'), 1000, 3000), places);
    expect(text).toContain('500::float8 + b.dice * (least(3000::float8');
    expect(text).toContain('least(greatest(r."losses", 0), 30)');
  });
});

describe('printAll', () => {
  it('is true where there is no condition', () => {
    expect(printAll({}, places)).toBe('true');
  });

  it('joins conditions by and', () => {
    const text = printAll({ a: col('urgent'), b: isNull(col('note')) }, places);
    expect(text).toBe('r."urgent" and (r."note" is null)');
  });
});

describe('a name or a text in SQL', () => {
  it.each([
    ['an identifier', identifier('a"b'), '"a""b"'],
    ['a literal', literal("a'b\\"), "'a''b\\'"],
    ['a table of the one schema', qualified('delivery'), '"fencepost"."delivery"'],
    ['an array of json, which travels as text', arrayTypeOf({ a: 'json?' }, 'a'), 'text[]'],
    ['an array of instants', arrayTypeOf({ a: 'instant' }, 'a'), 'timestamptz[]'],
  ])('is quoted: %s', (_, text, expected) => {
    expect(text).toBe(expected);
  });
});
