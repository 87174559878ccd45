// JSON values, and the one text that equal values share.
//
// - Canonical text: members sorted by UTF-16 code units, no white space, numbers and strings as
//   ECMAScript prints them. Source: RFC 8785, JSON Canonicalization Scheme.
// - Members are own properties, whatever they are called: `__proto__` is a name like any other.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member by its name; undefined where the object has none of its own. */
export const member = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Most values come sorted. Then what V8 prints in one go is the canonical text. */
function isSorted(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  const names = Object.keys(value);
  return (
    names.every((name, i) => i === 0 || (names[i - 1] ?? '') < name) &&
    Object.values(value).every(isSorted)
  );
}

const plainText = /^[ !#-[\]-~]*$/;

/** Quotes a text; most need no escape, and are not worth a call. */
const quoted = (text: string): string =>
  plainText.test(text) ? `"${text}"` : JSON.stringify(text);

function print(value: Json): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(print).join()}]`;
  const object = value as JsonObject;
  // Without a comparison of its own, sort goes by UTF-16 code units.
  const names = Object.keys(object).toSorted();
  return `{${names.map((name) => `${quoted(name)}:${print(object[name] ?? null)}`).join()}}`;
}

/** Prints the canonical text of a checked value, which is not too deep. */
export const canonical = (value: Json): string =>
  isSorted(value) ? JSON.stringify(value) : print(value);

/** Whether two values are the same JSON. Absent is equal to absent only. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [mine, theirs] = [a as JsonObject, b as JsonObject];
  const names = Object.keys(mine);
  return (
    names.length === Object.keys(theirs).length &&
    names.every((name) => Object.hasOwn(theirs, name) && equal(mine[name], theirs[name]))
  );
}

/** The JSON pointer of a member of what `pointer` names. Source: RFC 6901. */
export const pointerTo = (pointer: string, name: string | number): string =>
  `${pointer}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
