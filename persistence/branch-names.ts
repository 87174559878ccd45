// Names of databases that are branches. Everything that writes one into a statement quotes it by
// `identifier`; what is refused here could not be that database's name in the first place.

/** Postgres cuts longer names without an error, and would then mean another database. */
const mostBytes = 63;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const control = /[\u0000-\u001f\u007f]/;
const loneSurrogate = /\p{Surrogate}/u;
const working = /^fencepost_\d+_(new|old)$/;

/** Says why no branch can have this name; undefined if one can. */
export function branchNameFault(name: string): string | undefined {
  if (name === '') return 'a name is not empty';
  if (Buffer.byteLength(name) > mostBytes) return `a name has at most ${mostBytes} bytes`;
  if (control.test(name)) return 'a name has no control characters';
  if (loneSurrogate.test(name)) return 'a name is text in Unicode';
  if (working.test(name)) return 'this name is one of those that a reset uses on its way';
  return undefined;
}

/** The copy that an operation is making, by the operation's id: it meets nobody else's. */
export const copyName = (operation: number): string => `fencepost_${operation}_new`;
/** What a reset puts aside, until it is dropped. */
export const oldName = (operation: number): string => `fencepost_${operation}_old`;
