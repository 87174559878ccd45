// Where the names and the scalars of JSON end, as JSON.stringify writes them: sign by sign, without
// making values. plain.ts says what is plain and why; -1 is said of all else, and then the text is
// read the long way.

/** So many digits are an integer that a number can be, whichever they are. */
const mostDigits = 15;

export const sign = {
  quote: 34,
  comma: 44,
  minus: 45,
  point: 46,
  zero: 48,
  nine: 57,
  colon: 58,
  bigE: 69,
  openList: 91,
  backslash: 92,
  closeList: 93,
  smallE: 101,
  openObject: 123,
  closeObject: 125,
} as const;
const firstPrintable = 32;

const shortEscapes = new Set([...'"\\bfnrt'].map((letter) => letter.charCodeAt(0)));

/** Where the string that begins at `at` ends, behind its quote; -1 where it is not plain. */
function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === sign.quote) return i + 1;
    if (code < firstPrintable) return -1;
    if (code !== sign.backslash) continue;
    i += 1;
    if (!shortEscapes.has(text.charCodeAt(i))) return -1;
  }
  return -1;
}

/** The same of a name, which has no escapes at all: so the text of names sorts as the names do. */
export function endOfName(text: string, at: number): number {
  if (text.charCodeAt(at) !== sign.quote) return -1;
  for (let i = at + 1; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === sign.quote) return i + 1;
    if (code < firstPrintable || code === sign.backslash) return -1;
  }
  return -1;
}

const number = /-?\d+(?:\.\d+)?(?:e[-+]?\d+)?/y;

function endOfPrinted(text: string, at: number): number {
  number.lastIndex = at;
  const [printed = ''] = number.exec(text) ?? [];
  return String(Number(printed)) === printed ? at + printed.length : -1;
}

function endOfNumber(text: string, at: number): number {
  const first = text.charCodeAt(at) === sign.minus ? at + 1 : at;
  let end = first;
  let code = text.charCodeAt(end);
  while (code >= sign.zero && code <= sign.nine) {
    end += 1;
    code = text.charCodeAt(end);
  }
  const isWhole = code !== sign.point && code !== sign.smallE && code !== sign.bigE;
  if (!isWhole) return endOfPrinted(text, at);
  const digits = end - first;
  if (digits === 0 || digits > mostDigits) return -1;
  // Neither -0 nor 01. Alone it is a zero.
  if (text.charCodeAt(first) === sign.zero && end - at > 1) return -1;
  return end;
}

/** The same of a string, a number or a word. */
export function endOfScalar(text: string, at: number): number {
  if (text.charCodeAt(at) === sign.quote) return endOfString(text, at);
  for (const word of ['true', 'false', 'null']) {
    if (text.startsWith(word, at)) return at + word.length;
  }
  return endOfNumber(text, at);
}
