// Instants as whole microseconds since 1970, the precision of Postgres's timestamptz. A Date holds
// milliseconds: a compare-and-swap through it gave 200 false conflicts in 200.

const millisecond = 1000;
const text =
  /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

/**
 * Reads a timestamptz as Postgres prints it under `DateStyle ISO`, in whatever time zone.
 * Exact until the year 2255. `infinity` is Infinity.
 * @throws RangeError for any other text.
 */
export function parseInstant(printed: string): number {
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
