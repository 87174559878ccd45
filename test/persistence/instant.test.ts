import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant, printInstant } from '../../persistence/instant.ts';

const utc = (...parts: Parameters<typeof Date.UTC>) => Date.UTC(...parts) * 1000;

describe('parseInstant', () => {
  it.each<[string, number]>([
    ['1970-01-01 00:00:00+00', 0],
    ['2024-02-29 12:30:45.123456+00', utc(2024, 1, 29, 12, 30, 45) + 123_456],
    ['2024-02-29 12:30:45.1+00', utc(2024, 1, 29, 12, 30, 45) + 100_000],
    ['2024-02-29 12:30:45.000001+00', utc(2024, 1, 29, 12, 30, 45) + 1],
    ['1969-12-31 23:59:59.999999+00', -1],
    // The same instant in other zones of the session.
    ['2024-02-29 18:15:45.123456+05:45', utc(2024, 1, 29, 12, 30, 45) + 123_456],
    ['2024-02-29 09:00:45.123456-03:30', utc(2024, 1, 29, 12, 30, 45) + 123_456],
    ['2024-03-01 02:30:45.123456+14', utc(2024, 1, 29, 12, 30, 45) + 123_456],
    ['1969-12-31 23:30:00-00:30', 0],
    // Local mean time, which Postgres prints for the years before zones: Amsterdam is 19 min 32 s.
    ['1900-01-01 00:19:32+00:19:32', utc(1900, 0, 1)],
    ['1899-12-31 23:59:28-00:00:32', utc(1900, 0, 1)],
  ])('reads %s', (printed, instant) => {
    expect(parseInstant(printed)).toBe(instant);
  });

  it('takes the years 1 to 99 for what they are', () => {
    const year99 = new Date('0099-06-01T00:00:00Z').getTime() * 1000;
    expect(parseInstant('0099-06-01 00:00:00+00')).toBe(year99);
  });

  it('reads years before Christ: 44 BC is the year -43', () => {
    const ides = new Date('-000043-03-15T00:00:00Z').getTime() * 1000;
    expect(parseInstant('0044-03-15 00:00:00+00 BC')).toBe(ides);
    expect(parseInstant('0001-01-01 00:00:00+00 BC')).toBe(
      new Date('0000-01-01T00:00:00Z').getTime() * 1000,
    );
  });

  it('reads years of five digits', () => {
    const far = new Date('+012345-01-01T00:00:00Z').getTime() * 1000;
    expect(parseInstant('12345-01-01 00:00:00+00')).toBe(far);
  });

  it('reads the infinities', () => {
    expect(parseInstant('infinity')).toBe(Number.POSITIVE_INFINITY);
    expect(parseInstant('-infinity')).toBe(Number.NEGATIVE_INFINITY);
  });

  it.each([
    ['nothing', ''],
    ['no zone', '2024-02-29 12:30:45'],
    ['a letter between date and time', '2024-02-29T12:30:45+00'],
    ['the style Postgres', 'Thu Feb 29 12:30:45 2024 UTC'],
    ['the style German', '29.02.2024 12:30:45 UTC'],
    ['the style SQL', '02/29/2024 12:30:45 UTC'],
    ['seven digits of a second', '2024-02-29 12:30:45.1234567+00'],
    ['something behind it', '2024-02-29 12:30:45+00 '],
  ])('refuses %s', (_, printed) => {
    expect(() => parseInstant(printed)).toThrow(RangeError);
  });
});

describe('printInstant', () => {
  it.each([
    [0, '1970-01-01T00:00:00.000000Z'],
    [1, '1970-01-01T00:00:00.000001Z'],
    [-1, '1969-12-31T23:59:59.999999Z'],
    [-1_000_001, '1969-12-31T23:59:58.999999Z'],
    [1_709_209_845_123_456, '2024-02-29T12:30:45.123456Z'],
    [Number.MAX_SAFE_INTEGER, '2255-06-05T23:47:34.740991Z'],
  ])('writes %d', (instant, printed) => {
    expect(printInstant(instant)).toBe(printed);
  });

  it.each([Infinity, -Infinity, Number.NaN, -62_167_219_300_000_000, 253_402_300_800_000_000])(
    'refuses %d, which it could not write exactly',
    (instant) => {
      expect(() => printInstant(instant)).toThrow(RangeError);
    },
  );
});

describe('an instant', () => {
  const zones = ['+00', '-00', '+05:45', '-03:30', '+14', '-11', '+00:19:32'];
  const offsetSeconds = (zone: string) => {
    const [h = 0, m = 0, s = 0] = zone.slice(1).split(':').map(Number);
    return (zone.startsWith('-') ? -1 : 1) * (h * 3600 + m * 60 + s);
  };
  /** As Postgres prints it in a session of that zone: without the zeros at the end of a second. */
  const printedIn = (zone: string, instant: number) => {
    const [whole = '', fraction = ''] = printInstant(instant + offsetSeconds(zone) * 1_000_000)
      .replace('T', ' ')
      .replace('Z', '')
      .split('.');
    const digits = fraction.replace(/0+$/, '');
    return `${whole}${digits ? `.${digits}` : ''}${zone}`;
  };

  it('comes back to the microsecond, whatever zone the session has', () => {
    const exact = fc.integer({ min: -(2 ** 53) + 10 ** 12, max: 2 ** 53 - 10 ** 12 });
    fc.assert(
      fc.property(exact, fc.constantFrom(...zones), (instant, zone) => {
        expect(parseInstant(printedIn(zone, instant))).toBe(instant);
      }),
      { numRuns: 2000, verbose: true },
    );
  });
});
