import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { printCursor, readCursor } from '../../../services/http/keyset.ts';

const position = z.strictObject({ id: z.string() });
const question = { status: 'dead' };

describe('a cursor', () => {
  it('names a position of the question that it was given for', () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        const cursor = printCursor(question, { id });
        expect(readCursor(cursor, question, position)).toEqual({ id });
        expect(readCursor(cursor, { status: 'sent' }, position)).toBeUndefined();
      }),
    );
  });

  it('is refused when a letter of it is another', () => {
    const cursor = printCursor(question, { id: '0192f0c1-2b7a-7c3e-8f00-000000000001' });
    for (let at = 0; at < cursor.length; at += 1) {
      for (const letter of ['A', 'b', '.', '-', '=', '']) {
        if (cursor[at] === letter) continue;
        const tampered = cursor.slice(0, at) + letter + cursor.slice(at + 1);
        expect(readCursor(tampered, question, position), tampered).toBeUndefined();
      }
    }
  });

  it('is refused when it names what is no position', () => {
    expect(readCursor(printCursor(question, { id: 1 }), question, position)).toBeUndefined();
    for (const nonsense of ['', '.', 'a', 'a.b', 'a.b.c', 'bnVsbA.x']) {
      expect(readCursor(nonsense, question, position)).toBeUndefined();
    }
  });
});
