// JSON that is taken apart instead of parsed: what comes out is what parsing it would have said.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonProblems } from '../../kinds/content.ts';
import { canonical, type Json } from '../../kinds/json.ts';
import { PlainJson, plainValue, readPlain } from '../../kinds/plain.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Values of members as text, read back one by one. */
function rebuilt(plain: PlainJson): unknown {
  const { members } = plain;
  if (!members) return plainValue(plain);
  const entries = members.names.map((name, i) => {
    const value = members.valueAt(i);
    return [name, value instanceof PlainJson ? rebuilt(value) : plainValue(value)];
  });
  return Object.fromEntries(entries);
}

/** Pieces of JSON in any order: now and then a text, mostly none. */
const pieces = fc.array(
  fc.constantFrom(
    ...['{', '}', '[', ']', ',', ':', '"a"', '"b"', '"a":', '"b":1', '"\\n"', '"\\u0061"', '"\\/"'],
    ...['0', '-0', '1', '01', '1.5', '1.50', '1e21', '1e+21', '.5', '1.', '-', '12345678901234567'],
    ...['true', 'nul', 'null', ' ', '\t', '"', '\\', '"\u0001"', '"ä😀"', '{"a":1,"b":2}', '[1,2]'],
  ),
  { maxLength: 12 },
);

describe('plain JSON', () => {
  it('is what JSON.stringify writes of what a program keeps', () => {
    const names = fc.string({ unit: fc.constantFrom(...'AB12 !#~äß€\u{1f600}'), maxLength: 4 });
    const scalars = [fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })];
    const value = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 3, depthIdentifier: 'json' },
        ...[...scalars, fc.boolean(), fc.constant(null), fc.stringMatching(/^[ -~äß€\n"\\]*$/)],
        fc.array(tie('json'), { maxLength: 4 }),
        fc.dictionary(names, tie('json'), { maxKeys: 8 }),
      ),
    })).json;
    let read = 0;
    fc.assert(
      fc.property(fc.dictionary(names, value, { maxKeys: 30 }), (given) => {
        const text = JSON.stringify(given);
        const plain = readPlain(text);
        if (!plain) return;
        read += 1;
        expect(plain.text).toBe(text);
        expect(plain.canonical).toBe(canonical(JSON.parse(text)));
        expect(rebuilt(plain)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
    expect(read).toBeGreaterThan(300);
  });

  it('is JSON with nothing wrong, or it is not plain', () => {
    fc.assert(
      fc.property(pieces, fc.boolean(), (some, inObject) => {
        const text = inObject ? `{"x":${some.join('')}}` : some.join('');
        const plain = readPlain(text);
        if (!plain) return;
        const parsed = JSON.parse(text) as Json;
        expect(jsonProblems(parsed)).toEqual([]);
        expect(plain.canonical).toBe(canonical(parsed));
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    [
      'members in any order',
      '{"b":1,"a":[{"d":1,"c":2}],"A":{}}',
      '{"A":{},"a":[{"c":2,"d":1}],"b":1}',
    ],
    [
      'runs of names',
      '{"A1":1,"A2":2,"A10":3,"A11":4,"A100":5}',
      '{"A1":1,"A10":3,"A100":5,"A11":4,"A2":2}',
    ],
    ['names that begin with others', '{"a!":1,"a ":2,"a":3}', '{"a":3,"a ":2,"a!":1}'],
    ['names beyond the BMP', '{"\ufb33":1,"\u{1f600}":2}', '{"\u{1f600}":2,"\ufb33":1}'],
    ['__proto__', '{"b":1,"__proto__":2}', '{"__proto__":2,"b":1}'],
    ['short escapes', '["\\"\\\\\\b\\f\\n\\r\\t"]', '["\\"\\\\\\b\\f\\n\\r\\t"]'],
    ['numbers', '[0,-1,1.5,-0.25,1e+21,999999999999999]', '[0,-1,1.5,-0.25,1e+21,999999999999999]'],
    ['words', '[true,false,null]', '[true,false,null]'],
  ])('has a canonical text: %s', (_, text, printed) => {
    expect(readPlain(text)?.canonical).toBe(printed);
    expect(canonical(JSON.parse(text))).toBe(printed);
  });

  it.each([
    ['a member twice', '{"a":1,"a":2}'],
    ['one twice, far apart', '{"b":1,"c":1,"a":1,"b":2}'],
    ['one twice in three runs', '{"c":1,"b":1,"a":1,"c":2}'],
    ['white space', '{"a": 1}'],
    ['white space at the end', '{"a":1}\n'],
    ['an escape that is not needed', '["\\/"]'],
    ['an escape by number', '["\\u0001"]'],
    ['an escape in a name', '{"\\n":1}'],
    ['a control character', '["\u0001"]'],
    ['one in a name', '{"\u0001":1}'],
    ['-0', '[-0]'],
    ['01', '[01]'],
    ['1.0', '[1.0]'],
    ['1e3', '[1e3]'],
    ['1E3', '[1E3]'],
    ['a number too large to be one', '[1e400]'],
    ['digits that would be lost', '[9007199254740993]'],
    ['no digits', '[-]'],
    ['a word that is none', '[nul]'],
    ['a comma too many', '[1,]'],
    ['a comma too many in an object', '{"a":1,}'],
    ['a comma too few', '[1 2]'],
    ['no end', '{"a":1'],
    ['no end of a text', '["a'],
    ['something behind the end', '{}{}'],
    ['a number alone', '1'],
    ['nothing', ''],
    ['many levels', nested(33)],
  ])('is not %s', (_, text) => {
    expect(readPlain(text)).toBeUndefined();
  });

  it('has members in the worst order, however many', () => {
    const names = Array.from({ length: 150_000 }, (_, i) => `A${999_999 - i}`);
    const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])));
    const sorted = JSON.stringify(Object.fromEntries(names.toReversed().map((name) => [name, 1])));
    expect(readPlain(text)?.canonical).toBe(sorted);
  });

  it('may be so deep that nothing can be too deep', () => {
    expect(readPlain(nested(32))).toBeDefined();
    expect(readPlain(nested(100_000))).toBeUndefined();
  });
});
