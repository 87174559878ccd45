// Expressions in words: each operator has its sentence, and the sentence of its opposite.

import { describe, expect, it } from 'vitest';
import {
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
import {
  conditionInWords,
  durationInWords,
  effectInWords,
  guardInShort,
  valueInWords,
} from '../../machines/words.ts';

const names = {
  columns: {
    count: 'int',
    most: 'int',
    due_at: 'instant',
    end_at: 'instant',
    held: 'bool',
    note: 'text?',
    wait_ms: 'int',
  },
  fields: { note: 'text?', sure: 'bool', wait_ms: 'int?' },
} as const;

describe('durationInWords', () => {
  it.each([
    [0, '0 s'],
    [500, '500 ms'],
    [1500, '1500 ms'],
    [1000, '1 s'],
    [90_000, '90 s'],
    [60_000, '1 min'],
    [3_600_000, '1 h'],
    [86_400_000, '1 day'],
    [604_800_000, '7 days'],
  ])('tells %d ms as %s', (ms, words) => {
    expect(durationInWords(ms)).toBe(words);
  });
});

describe('valueInWords', () => {
  it.each<[string, Node]>([
    ['“due at”', col('due_at')],
    ['the given “note”', field('note')],
    ['‘gone’', lit('gone')],
    ['yes', lit(true)],
    ['3', lit(3)],
    ['nothing', lit(null)],
    ['now', clock],
    ['“count” + 1', increment(col('count'))],
    ['now + 1 min', timeAfter(clock, lit(60_000))],
    ['“due at” + the given “wait”', timeAfter(col('due_at'), field('wait_ms'))],
    ['the given “note”, or ‘none’ without it', coalesce(field('note'), lit('none'))],
    ['“count”, at most 9', least(col('count'), lit(9))],
    ['the smaller of “count” and “most”', least(col('count'), col('most'))],
    ['the later of “due at” and “end at”', greatest(col('due_at'), col('end_at'))],
    [
      'now + (the given “wait”, or 0 s without it, at most 1 day, at least 0 s)',
      timeAfter(
        clock,
        greatest(lit(0), least(coalesce(field('wait_ms'), lit(0)), lit(86_400_000))),
      ),
    ],
    [
      'now + a random wait (500 ms to 1 s; the longest doubles with each of “count” up to 1 h)',
      timeAfter(clock, backoff(col('count'), 1000, 3_600_000)),
    ],
    ['“note” is empty', isNull(col('note'))],
  ])('says "%s"', (words, node) => {
    expect(valueInWords(node, names)).toBe(words);
  });
});

describe('conditionInWords', () => {
  it.each<[string, string, Node]>([
    ['“due at” has come', '“due at” has not come', lte(col('due_at'), clock)],
    ['“end at” has not come', '“end at” has come', lt(clock, col('end_at'))],
    [
      '“due at” is before “end at”',
      '“due at” is not before “end at”',
      lt(col('due_at'), col('end_at')),
    ],
    [
      '“due at” is not after “end at”',
      '“due at” is after “end at”',
      lte(col('due_at'), col('end_at')),
    ],
    ['“count” is below “most”', '“count” is at least “most”', lt(col('count'), col('most'))],
    ['“count” is at most 3', '“count” is above 3', lte(col('count'), lit(3))],
    ['“note” is ‘x’', '“note” is not ‘x’', eq(col('note'), lit('x'))],
    ['“note” is not ‘x’', '“note” is ‘x’', ne(col('note'), lit('x'))],
    ['“note” is empty', '“note” is filled in', isNull(col('note'))],
    ['“held” is set', '“held” is not set', col('held')],
    ['the sender says “sure”', 'the sender says not “sure”', field('sure')],
    ['the sender says “sure”', 'the sender says not “sure”', coalesce(field('sure'), lit(false))],
    ['always', 'never', lit(true)],
    [
      '“held” is set and “note” is empty',
      '“held” is not set or “note” is filled in',
      and(col('held'), isNull(col('note'))),
    ],
    [
      '“held” is set, (“note” is empty and the sender says “sure”) or never',
      '“held” is not set, (“note” is filled in or the sender says not “sure”) and always',
      or(col('held'), and(isNull(col('note')), field('sure')), lit(false)),
    ],
  ])('says "%s", and of its opposite "%s"', (words, opposite, node) => {
    expect(conditionInWords(node, names)).toBe(words);
    expect(conditionInWords(node, names, false)).toBe(opposite);
    expect(conditionInWords(not(node), names)).toBe(opposite);
    expect(conditionInWords(not(not(node)), names)).toBe(words);
  });
});

describe('effectInWords', () => {
  it.each<[string, string, Node]>([
    ['“note” cleared', 'note', lit(null)],
    ['“count” + 1', 'count', increment(col('count'))],
    ['“most”: “count” + 1', 'most', increment(col('count'))],
    ['“note” as given', 'note', field('note')],
    ['“due at”: now', 'due_at', clock],
    [
      '“held”: whether “held” is set or the sender says “sure”',
      'held',
      or(col('held'), field('sure')),
    ],
  ])('says "%s"', (words, column, node) => {
    expect(effectInWords(column, node, names)).toBe(words);
  });
});

describe('guardInShort', () => {
  it.each<[string, string, readonly string[]]>([
    ['', 'otherwise', []],
    ['if due', 'else if due', ['not_due']],
    ['if step open', 'else if step open', ['step_not_open']],
    ['with steps left', 'otherwise, with steps left', ['no_steps_left']],
    ['unless given up', 'otherwise, unless given up', ['given_up']],
    [
      'if due and lapsed, with time left, unless a, b or c d',
      'else if due and lapsed, with time left, unless a, b or c d',
      ['a', 'not_due', 'b', 'no_time_left', 'not_lapsed', 'c_d'],
    ],
  ])('turns names round: "%s", or "%s"', (first, later, conditions) => {
    expect(guardInShort(conditions, false)).toBe(first);
    expect(guardInShort(conditions, true)).toBe(later);
  });
});
