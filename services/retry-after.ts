// Retry-After, read strictly: whole seconds, or one of the three date grammars that HTTP knows.
// Channels over HTTP call it.
//
// - Whatever else is written there is as good as nothing: null, and the caller's own backoff.
// - No Date.parse: it takes '-3' for a year, and 30 February for 2 March.
//   Source: RFC 9110, 10.2.3 Retry-After and 5.6.7 Date/Time Formats.

const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longDays = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const month = `(?<month>${months.join('|')})`;
const time = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';

const grammars = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^${days}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^${longDays}, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(`^${days} ${month} (?<day>\\d\\d| \\d) ${time} (?<year>\\d{4})$`),
];

const leapSecond = 60;

/** Two digits are the year at most 50 years ahead that ends in them. */
function fullYear(text: string, nowMs: number): number {
  if (text.length === 4) return Number(text);
  const latest = new Date(nowMs).getUTCFullYear() + 50;
  return latest - ((latest - Number(text)) % 100);
}

function readDate(text: string, nowMs: number): number | null {
  const parts = grammars.map((grammar) => grammar.exec(text)?.groups).find((found) => found);
  if (!parts) return null;
  const [hour, minute, second] = [parts['hour'], parts['minute'], parts['second']].map(Number);
  if (hour === undefined || minute === undefined || second === undefined) return null;
  if (hour > 23 || minute > 59 || second > leapSecond) return null;
  const day = Number(parts['day']);
  const place = months.indexOf(parts['month'] ?? '');
  const date = new Date(0);
  date.setUTCFullYear(fullYear(parts['year'] ?? '', nowMs), place, day);
  // A day that its month does not have has rolled over.
  if (date.getUTCMonth() !== place || date.getUTCDate() !== day) return null;
  return date.setUTCHours(hour, minute, second);
}

/**
 * Reads a Retry-After as milliseconds from `nowMs` on; a date that has passed is 0. Null for none,
 * for several, and for what is not exactly in the grammar. The caller caps it.
 */
export function readRetryAfter(
  field: string | readonly string[] | undefined,
  nowMs: number,
): number | null {
  if (typeof field !== 'string') return null;
  // Blanks around a value are not part of it. Source: RFC 9110, 5.5 Field Values.
  const text = field.replace(/^[ \t]+|[ \t]+$/g, '');
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const at = readDate(text, nowMs);
  return at === null ? null : Math.max(0, at - nowMs);
}
