// The laws of the merge as properties, and what the ids of JavaScript's own objects do to it:
// nothing.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equal, type Json } from '../../kinds/json.ts';
import { record } from '../../kinds/record.ts';
import { seedOfRun } from '../support/properties.ts';

const seed = seedOfRun('record');
const runs = { seed, numRuns: 500 };

type Attributes = Readonly<Record<string, Json>>;

const own = (entries: readonly (readonly [string, Json])[]): Attributes =>
  Object.fromEntries(entries);
const of = (attributes: Attributes): Json => ({ attributes });

const ids = ['a', 'b', 'c', 'd', '__proto__', 'constructor', 'toString', 'hasOwnProperty'];
const anyId = fc.constantFrom(...ids);
const anyValue = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
const anyAttributes = fc
  .uniqueArray(fc.tuple(anyId, anyValue), { selector: ([id]) => id })
  .map(own);
const anyContent = anyAttributes.map(of);

const same = (a: Json, b: Json) => expect(equal(a, b), JSON.stringify([a, b])).toBe(true);

describe('the merge of records', () => {
  it('of three equal contents is that content', () => {
    fc.assert(
      fc.property(anyContent, (content) => {
        const { content: merged, choices } = record.merge(content, content, content);
        same(merged, content);
        expect(choices).toEqual([]);
      }),
      runs,
    );
  });

  it('takes mine where only mine changed', () => {
    fc.assert(
      fc.property(anyContent, anyContent, (base, mine) => {
        const { content, choices } = record.merge(base, mine, base);
        same(content, mine);
        expect(choices).toEqual([]);
      }),
      runs,
    );
  });

  it('takes theirs where only theirs changed', () => {
    fc.assert(
      fc.property(anyContent, anyContent, (base, theirs) => {
        const { content, choices } = record.merge(base, base, theirs);
        same(content, theirs);
        expect(choices).toEqual([]);
      }),
      runs,
    );
  });

  it('takes a change that both made the same', () => {
    fc.assert(
      fc.property(anyContent, anyContent, (base, both) => {
        const { content, choices } = record.merge(base, both, both);
        same(content, both);
        expect(choices).toEqual([]);
      }),
      runs,
    );
  });

  it('of changes to disjoint ids has both, whoever is called mine', () => {
    fc.assert(
      fc.property(anyAttributes, anyAttributes, anyAttributes, (base, one, two) => {
        const isMine = (id: string) => ids.indexOf(id) % 2 === 0;
        const changed = (which: boolean, to: Attributes) =>
          own([
            ...Object.entries(base).filter(([id]) => isMine(id) !== which),
            ...Object.entries(to).filter(([id]) => isMine(id) === which),
          ]);
        const [mine, theirs] = [of(changed(true, one)), of(changed(false, two))];
        const there = record.merge(of(base), mine, theirs);
        const back = record.merge(of(base), theirs, mine);
        same(there.content, back.content);
        expect([there.choices, back.choices]).toEqual([[], []]);
        const both = own([
          ...Object.entries(one).filter(([id]) => isMine(id)),
          ...Object.entries(two).filter(([id]) => !isMine(id)),
        ]);
        same(there.content, of(both));
      }),
      runs,
    );
  });

  it('disputes the same ids, whoever is called mine, and nothing but what both changed', () => {
    fc.assert(
      fc.property(anyAttributes, anyAttributes, anyAttributes, (base, mine, theirs) => {
        const at = (from: Attributes, id: string) =>
          Object.hasOwn(from, id) ? from[id] : undefined;
        const there = record.merge(of(base), of(mine), of(theirs));
        const back = record.merge(of(base), of(theirs), of(mine));
        const disputed = there.choices.map(({ id }) => id).toSorted();
        expect(back.choices.map(({ id }) => id).toSorted()).toEqual(disputed);
        const expected = ids.filter((id) => {
          const [b, m, t] = [at(base, id), at(mine, id), at(theirs, id)];
          return !equal(b, m) && !equal(b, t) && !equal(m, t);
        });
        expect(disputed).toEqual(expected.toSorted());
      }),
      runs,
    );
  });

  it('is mine once mine was chosen everywhere that theirs did not change alone', () => {
    fc.assert(
      fc.property(anyContent, anyContent, anyContent, (base, mine, theirs) => {
        const { content, choices } = record.merge(base, mine, theirs);
        const chosen = choices.reduce<Json>((at, each) => record.choose(at, each, 'mine'), content);
        same(record.merge(base, mine, chosen).content, chosen);
        const kept = choices.reduce<Json>((at, each) => record.choose(at, each, 'theirs'), content);
        same(kept, content);
      }),
      runs,
    );
  });

  it('leaves a removal against a change to a person, either way round', () => {
    const base = of({ a: 1 });
    const removed = record.merge(base, of({}), of({ a: 2 }));
    expect(removed).toEqual({
      content: of({ a: 2 }),
      choices: [{ id: 'a', pointer: '/attributes/a', base: 1, theirs: 2 }],
    });
    const changed = record.merge(base, of({ a: 2 }), of({}));
    expect(changed).toEqual({
      content: of({}),
      choices: [{ id: 'a', pointer: '/attributes/a', base: 1, mine: 2 }],
    });
    const [choice] = removed.choices;
    expect(choice && record.choose(removed.content, choice, 'mine')).toEqual(of({}));
  });

  it('leaves what both added differently to a person', () => {
    const { content, choices } = record.merge(of({}), of({ a: 1 }), of({ a: 2 }));
    expect(content).toEqual(of({ a: 2 }));
    expect(choices).toMatchObject([{ id: 'a', mine: 1, theirs: 2 }]);
  });

  it('changes nothing of what it is given, and no prototype', () => {
    const parse = (text: string): Json => JSON.parse(text);
    const base = parse('{"attributes":{"__proto__":{"x":1}}}');
    const mine = parse('{"attributes":{"__proto__":{"x":2},"constructor":1}}');
    const theirs = parse('{"attributes":{"__proto__":{"x":1},"toString":2}}');
    const before = JSON.stringify([base, mine, theirs]);
    const { content } = record.merge(base, mine, theirs);
    expect(JSON.stringify([base, mine, theirs])).toBe(before);
    expect(({} as Record<string, unknown>)['x']).toBe(undefined);
    same(content, parse('{"attributes":{"__proto__":{"x":2},"constructor":1,"toString":2}}'));
  });
});

describe('a record', () => {
  it.each(ids)('takes "%s" as the id of an attribute', (id) => {
    expect(record.check(of(own([[id, { nested: [1] }]])))).toEqual([]);
  });

  it('refuses an id without characters, or with too many', () => {
    expect(record.check(of({ '': 1 }))).toMatchObject([
      { code: 'bad_attribute', pointer: '/attributes/' },
    ]);
    expect(record.check(of({ ['x'.repeat(201)]: 1 }))).toMatchObject([{ code: 'bad_attribute' }]);
  });

  it('tells what changes', () => {
    expect(record.describe(of({ a: 1, b: 2 }), of({ a: 1, b: 3, c: 4 }))).toBe('adds c; changes b');
  });
});
