import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, equal, type Json, pointerTo } from '../../kinds/json.ts';

/** The same value with the members of every object in another order. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, each]) => [name, reversed(each)]);
  return Object.fromEntries(members.toReversed());
}

const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;

describe('canonical text', () => {
  it('is one text, in whatever order the members come', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonical(reversed(value))).toBe(canonical(value));
      }),
    );
  });

  it('is JSON of the same value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        // JSON.parse is what says what a text means; -0 is printed as 0.
        expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('is the same where another text of the value is at hand', () => {
    const texts = fc.oneof(
      anyJson,
      fc.dictionary(fc.stringMatching(/^[A-Z]\d{0,3}$/), fc.string()),
    );
    fc.assert(
      fc.property(texts, (value) => {
        const text = JSON.stringify(reversed(value));
        const read = JSON.parse(text);
        expect(canonical(read, text)).toBe(canonical(read));
      }),
    );
  });

  it('sorts names that look like numbers as the text that they are', () => {
    expect(canonical({ 9: 1, 10: 2, a: 3 })).toBe('{"10":2,"9":1,"a":3}');
  });

  it('sorts by UTF-16 code units, as RFC 8785 does', () => {
    const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
    const printed = canonical(Object.fromEntries(names.map((name, i) => [name, i])));
    expect([...printed.matchAll(/:(\d)/g)].map(([, i]) => Number(i))).toEqual([
      1, 3, 5, 6, 0, 4, 2,
    ]);
  });

  it('keeps __proto__ as a member', () => {
    expect(canonical(JSON.parse('{"b":1,"__proto__":{"x":1}}'))).toBe(
      '{"__proto__":{"x":1},"b":1}',
    );
  });
});

describe('equal', () => {
  it('tells absent from null', () => {
    expect(equal(undefined, undefined)).toBe(true);
    expect(equal(undefined, null)).toBe(false);
  });

  it('tells a list from the object of its indices', () => {
    expect(equal([1], { 0: 1 })).toBe(false);
  });

  it('tells the number from its text', () => {
    expect(equal(1, '1')).toBe(false);
  });
});

it('a pointer escapes what separates its parts', () => {
  expect(pointerTo('/cells', 'a/b~c')).toBe('/cells/a~1b~0c');
});
