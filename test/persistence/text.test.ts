import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { longestText, storable, textFault, truncate } from '../../persistence/text.ts';

/** Any text of UTF-16 units, whole pairs, halves and NUL among them. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x0000, 0x41, 0xd83d, 0xde00, 0xd800, 0xdfff, 0xfffd),
      fc.integer({ min: 0, max: 0xffff }),
    ),
    { maxLength: 40 },
  )
  .map((units) => String.fromCharCode(...units));
const wellFormed = fc.string({ unit: 'binary', maxLength: 40 });

describe('textFault', () => {
  it.each([
    ['nothing', '', undefined],
    ['a face', '😀', undefined],
    ['the replacement character', '\uFFFD', undefined],
    ['NUL', 'a\u0000b', 'nul'],
    ['half a face in front', '\ud83d!', 'lone_surrogate'],
    ['the other half', '!\ude00', 'lone_surrogate'],
    ['halves in the wrong order', '\ude00\ud83d', 'lone_surrogate'],
    ['the longest text', 'x'.repeat(longestText), undefined],
    ['one unit more', 'x'.repeat(longestText + 1), 'too_long'],
  ])('of %s', (_, text, fault) => {
    expect(textFault(text)).toBe(fault);
  });
});

describe('truncate', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['abcd', 1, '…'],
    ['a😀b', 4, 'a😀b'],
    ['a😀bc', 4, 'a😀…'],
    ['a😀bc', 3, 'a…'],
    ['😀😀', 2, '…'],
  ])('cuts %j to at most %i units: %j', (text, length, cut) => {
    expect(truncate(text, length)).toBe(cut);
  });

  it('never makes a lone surrogate and never gets longer', () => {
    fc.assert(
      fc.property(wellFormed, fc.integer({ min: 1, max: 45 }), (text, length) => {
        const cut = truncate(text, length);
        expect(cut.length).toBeLessThanOrEqual(length);
        expect(/\p{Surrogate}/u.test(cut)).toBe(false);
        expect(text.startsWith(cut === text ? text : cut.slice(0, -1))).toBe(true);
      }),
      { numRuns: 1000, verbose: true },
    );
  });
});

describe('storable', () => {
  it('puts the replacement character where a text cannot be stored', () => {
    expect(storable('a\u0000b\ud83dc\ude00😀', 100)).toBe('a\uFFFDb\uFFFDc\uFFFD😀');
  });

  it('makes every text storable, within its length', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 45 }), (text, length) => {
        const mended = storable(text, length);
        expect(textFault(mended)).toBeUndefined();
        expect(mended.length).toBeLessThanOrEqual(length);
      }),
      { numRuns: 1000, verbose: true },
    );
  });

  it('leaves a good text as it is', () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        fc.pre(!text.includes('\u0000'));
        expect(storable(text, 1000)).toBe(text);
      }),
      { verbose: true },
    );
  });
});
