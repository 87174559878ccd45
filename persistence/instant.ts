// Instants as whole microseconds since 1970, the precision of Postgres's timestamptz. A Date holds
// milliseconds: a compare-and-swap through it gave 200 false conflicts in 200.

const millisecond = 1000;
const text =
  /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

const zero = 48;
const two = (printed: string, at: number) =>
  (printed.charCodeAt(at) - zero) * 10 + printed.charCodeAt(at + 1) - zero;

/** The usual case, `2026-12-01 07:47:28.123456+00`, a hundred thousand times a second. */
function parseUsual(printed: string): number | undefined {
  const end = printed.length - 3;
  if (end < 19 || end > 26 || end === 20 || !printed.endsWith('+00')) return undefined;
  const [dash, space, colon] = [45, 32, 58];
  if (printed.charCodeAt(4) !== dash || printed.charCodeAt(7) !== dash) return undefined;
  if (printed.charCodeAt(10) !== space || printed.charCodeAt(13) !== colon) return undefined;
  const year = two(printed, 0) * 100 + two(printed, 2);
  if (year < 1000) return undefined;
  const second = Date.UTC(
    year,
    two(printed, 5) - 1,
    two(printed, 8),
    two(printed, 11),
    two(printed, 14),
    two(printed, 17),
  );
  let fraction = 0;
  for (let at = 20; at < 26; at += 1) {
    fraction = fraction * 10 + (at < end ? printed.charCodeAt(at) - zero : 0);
  }
  return second * millisecond + fraction;
}

/**
 * Days of the proleptic Gregorian calendar, which Postgres holds to further years than Date does.
 * Years are counted from March, so that the leap day is the last one.
 */
function daysSince1970(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1;
  const leaps = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return y * 365 + leaps + dayOfYear - 719_468;
}

/**
 * Reads a timestamptz as Postgres prints it under `DateStyle ISO`, in whatever time zone.
 * Exact from 1684 to 2255, where 2^53 ends, and to the millisecond for whatever else Postgres can
 * hold; `infinity` is Infinity.
 * @throws RangeError for any other text.
 */
export function parseInstant(printed: string): number {
  const usual = parseUsual(printed);
  if (usual !== undefined && !Number.isNaN(usual)) return usual;
  const parts = text.exec(printed);
  if (!parts) {
    if (printed === 'infinity') return Number.POSITIVE_INFINITY;
    if (printed === '-infinity') return Number.NEGATIVE_INFINITY;
    throw new RangeError(
      `"${printed}" is not an ISO timestamp: the server's DateStyle must be ISO`,
    );
  }
  const [, year, month, day, hour, minute, second, fraction = '', sign, h, m = '0', s = '0', bc] =
    parts;
  const days = daysSince1970(bc ? 1 - Number(year) : Number(year), Number(month), Number(day));
  const offset = (Number(h) * 60 + Number(m)) * 60 + Number(s);
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  const utc = days * 86_400 + seconds - (sign === '-' ? -offset : offset);
  return utc * 1_000_000 + Number(fraction.padEnd(6, '0'));
}

/**
 * Writes an instant for Postgres, to the microsecond.
 * @throws RangeError outside the years 1 to 9999, where Date and Postgres write differently.
 */
export function printInstant(instant: number): string {
  const ms = Math.floor(instant / millisecond);
  const micro = String(instant - ms * millisecond).padStart(3, '0');
  const printed = new Date(ms).toISOString();
  if (printed.length !== 24 || printed.startsWith('0000')) {
    throw new RangeError(`${printed} is not within the years 1 to 9999`);
  }
  return printed.replace('Z', `${micro}Z`);
}
