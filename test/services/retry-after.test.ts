import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../services/retry-after.ts';

const now = Date.UTC(2026, 9, 6, 12, 0, 0);
const second = 1000;

describe('Retry-After', () => {
  it.each([
    // Seconds.
    ['120', 120 * second],
    ['0', 0],
    ['007', 7 * second],
    [' 5\t', 5 * second],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
    ['-3', null],
    ['+3', null],
    ['1.5', null],
    ['1e9', null],
    ['0x10', null],
    ['1_000', null],
    ['1000abc', null],
    ['120, 60', null],
    ['120 60', null],
    ['١٢', null],
    ['NaN', null],
    ['Infinity', null],
    ['', null],
    [' ', null],
    ['soon', null],
    // The date that everybody writes.
    ['Tue, 06 Oct 2026 12:02:00 GMT', 120 * second],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Tue, 06 Oct 2026 12:00:60 GMT', 60 * second],
    ['Thu, 29 Feb 2024 00:00:00 GMT', 0],
    ['Sat, 29 Feb 2025 00:00:00 GMT', null],
    ['Fri, 30 Feb 2029 00:00:00 GMT', null],
    ['Tue, 31 Nov 2026 00:00:00 GMT', null],
    ['Tue, 00 Oct 2026 12:02:00 GMT', null],
    ['Tue, 06 Oct 2026 24:00:00 GMT', null],
    ['Tue, 06 Oct 2026 12:60:00 GMT', null],
    ['Tue, 06 Oct 2026 12:00:61 GMT', null],
    ['Tue, 6 Oct 2026 12:02:00 GMT', null],
    ['tue, 06 oct 2026 12:02:00 gmt', null],
    ['Tue, 06 Oct 2026 12:02:00 UTC', null],
    ['Tue, 06 Oct 2026 12:02:00 +0000', null],
    ['Tue, 06 Oct 2026 12:02:00', null],
    ['Tue, 06 Oct 2026 12:02:00 GMT, 5', null],
    ['Foo, 06 Oct 2026 12:02:00 GMT', null],
    ['2026-10-06T12:02:00Z', null],
    // RFC 850, with the year of the fifty years ahead or before.
    ['Tuesday, 06-Oct-26 12:02:00 GMT', 120 * second],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sunday, 06-Nov-77 08:49:37 GMT', 0],
    ['Tue, 06-Oct-26 12:02:00 GMT', null],
    ['Tuesday, 06-Oct-2026 12:02:00 GMT', null],
    // asctime, whose day is padded with a blank.
    ['Tue Oct  6 12:02:00 2026', 120 * second],
    ['Tue Oct 06 12:02:00 2026', 120 * second],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['Tue Oct 6 12:02:00 2026', null],
    ['Tue Oct  6 12:02:00 2026 GMT', null],
  ])('%j is %j', (field, expected) => {
    expect(readRetryAfter(field, now)).toBe(expected);
  });

  it('takes two digits for a year at most fifty years ahead', () => {
    const ahead = readRetryAfter('Tuesday, 06-Oct-76 12:00:00 GMT', now);
    expect(ahead).toBe(Date.UTC(2076, 9, 6, 12) - now);
  });

  it('takes none, and several, for nothing', () => {
    expect(readRetryAfter(undefined, now)).toBeNull();
    expect(readRetryAfter(['120', '60'], now)).toBeNull();
    expect(readRetryAfter(['120', '120'], now)).toBeNull();
  });
});
