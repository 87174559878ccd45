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
  if (printed.charCodeAt(4) !== 45 || printed.charCodeAt(10) !== 32) return undefined;
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
 * Reads a timestamptz as Postgres prints it under `DateStyle ISO`, in whatever time zone.
 * Exact until the year 2255. `infinity` is Infinity.
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
  // Date.UTC would take the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(bc ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  const offsetMs = (Number(h) * 3600 + Number(m) * 60 + Number(s)) * 1000;
  const utcMs = date.getTime() - (sign === '-' ? -offsetMs : offsetMs);
  return utcMs * millisecond + Number(fraction.padEnd(6, '0'));
}

/** Writes an instant for Postgres, to the microsecond. */
export function printInstant(instant: number): string {
  if (!Number.isFinite(instant)) return instant > 0 ? 'infinity' : '-infinity';
  const ms = Math.floor(instant / millisecond);
  const micro = String(instant - ms * millisecond).padStart(3, '0');
  return new Date(ms).toISOString().replace('Z', `${micro}Z`);
}
