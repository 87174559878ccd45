// Text that Postgres can store. Input is refused with a reason; what we write ourselves is mended,
// because an error's message must never be the reason that a failure cannot be recorded.
//
// Postgres refuses NUL in text and \u0000 in jsonb (22021, 22P05), and lone surrogates in jsonb
// (22P02); in text a lone surrogate would become U+FFFD silently on the way.

const loneSurrogate = /\p{Surrogate}/u;

export type TextFault = 'nul' | 'lone_surrogate' | 'too_long';

/** Five million UTF-16 units: far above any message, far below what stalls a connection. */
export const longestText = 5_000_000;

/** Says why a text cannot be stored exactly as it is; undefined if it can. */
export function textFault(text: string): TextFault | undefined {
  if (text.length > longestText) return 'too_long';
  if (text.includes('\u0000')) return 'nul';
  return loneSurrogate.test(text) ? 'lone_surrogate' : undefined;
}

/** Cuts a text to at most `length` UTF-16 units without splitting a surrogate pair. */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  if (length < 1) return '';
  const last = text.charCodeAt(length - 2);
  const end = last >= 0xd800 && last <= 0xdbff ? length - 2 : length - 1;
  return `${text.slice(0, end)}…`;
}

/**
 * Mends a text of our own: NUL and lone surrogates become U+FFFD, the rest beyond `length` goes.
 */
export function storable(text: string, length: number): string {
  return truncate(text, length)
    .replaceAll('\u0000', '\uFFFD')
    .replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
