// Contents that are taken apart instead of parsed are judged as those that are parsed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../../kinds/all.ts';
import { readPlain } from '../../../kinds/plain.ts';
import { checkContent } from '../../../services/documents/content.ts';

const ids = fc.oneof(
  fc.stringMatching(/^[A-Z]{1,3}[1-9]\d?$/),
  fc.constantFrom('A0', 'a1', '', '__proto__', 'price', 'x'.repeat(201)),
);
const values = fc.oneof(
  { weight: 5, arbitrary: fc.oneof(fc.string(), fc.integer(), fc.boolean()) },
  fc.constantFrom('', null, {}, [], [1], { b: 1, a: '' }, 'x'.repeat(32_768), 'a\n"\\'),
);
const table = fc.dictionary(ids, values, { maxKeys: 20, noNullPrototype: true });
const contents = fc.oneof(
  { weight: 8, arbitrary: fc.record({ cells: table }, { noNullPrototype: true }) },
  { weight: 8, arbitrary: fc.record({ attributes: table }, { noNullPrototype: true }) },
  fc.record({ cells: table, attributes: table }, { noNullPrototype: true }),
  fc.constantFrom({}, [], [{ cells: {} }], { cells: [] }, { cells: 1 }, { attributes: null }),
);

describe('a plain content', () => {
  it.each(kinds.map(({ id }) => id))('of the kind %s is judged as what it says', (kind) => {
    const found = { plain: 0, ready: 0, wrong: 0 };
    fc.assert(
      fc.property(contents, (content) => {
        const text = JSON.stringify(content);
        const plain = readPlain(text);
        if (!plain) return;
        const checked = checkContent(kind, plain);
        found.plain += 1;
        found[checked.problems ? 'wrong' : 'ready'] += 1;
        expect(checked).toEqual(checkContent(kind, JSON.parse(text), text));
      }),
      { numRuns: 400 },
    );
    expect(Math.min(...Object.values(found))).toBeGreaterThan(20);
  });

  it('is of a known kind', () => {
    expect(checkContent('drawing', readPlain('{}')).problems).toMatchObject([
      { code: 'unknown_kind' },
    ]);
  });
});
