// What every content must be, whatever its kind: JSON that comes back as it was sent.
//
// - Refused, never changed: NUL and half surrogate pairs, which the database cannot keep, and
//   numbers and objects that JSON has no text for.
// - Nothing here recurses deeper than `deepest`, so that no content can exhaust the stack. Left
//   out: what only the text shows, such as a member that is there twice.

import { pointerTo } from './json.ts';
import type { ContentProblem } from './kind.ts';

export const deepest = 64;
/** Enough to mend by; a paste of a million wrong cells is not answered with a million lines. */
export const mostProblems = 20;

const details = {
  nul: 'The character NUL (U+0000) cannot be kept.',
  lone_surrogate: 'Half of a surrogate pair is not text.',
  not_a_number: 'NaN and the infinities are no JSON. Say what they stand for in text.',
  not_json: 'This is no JSON value.',
  too_deep: `Contents are at most ${deepest} levels deep.`,
} as const;

type JsonFault = keyof typeof details;

const problem = (code: JsonFault, pointer: string): ContentProblem => ({
  code,
  pointer,
  detail: details[code],
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is looked for.
const suspect = /[\u0000\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

function textFault(text: string): JsonFault | undefined {
  if (!suspect.test(text)) return undefined;
  if (text.includes('\u0000')) return 'nul';
  return loneSurrogate.test(text) ? 'lone_surrogate' : undefined;
}

function scalarFault(value: unknown): JsonFault | undefined {
  if (typeof value === 'string') return textFault(value);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'not_a_number';
  return value === null || typeof value === 'boolean' ? undefined : 'not_json';
}

const isPlain = (value: object): boolean =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));

function search(value: unknown, pointer: string, depth: number, found: ContentProblem[]): void {
  if (found.length >= mostProblems) return;
  if (typeof value !== 'object' || value === null) {
    const fault = scalarFault(value);
    if (fault) found.push(problem(fault, pointer));
    return;
  }
  if (!isPlain(value)) {
    found.push(problem('not_json', pointer));
    return;
  }
  if (depth > deepest) {
    found.push(problem('too_deep', pointer));
    return;
  }
  if (Array.isArray(value)) {
    // By index: a hole is no JSON value either.
    for (let i = 0; i < value.length; i += 1) {
      search(value[i], pointerTo(pointer, i), depth + 1, found);
    }
    return;
  }
  for (const [name, each] of Object.entries(value)) {
    const fault = textFault(name);
    if (fault) found.push(problem(fault, pointerTo(pointer, name)));
    else search(each, pointerTo(pointer, name), depth + 1, found);
  }
}

/** Most contents are clean. Seeing that needs no pointers, which take most of the time. */
function isClean(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return scalarFault(value) === undefined;
  if (depth > deepest || !isPlain(value)) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) if (!isClean(value[i], depth + 1)) return false;
    return true;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(object)) {
    if (textFault(name) !== undefined || !isClean(object[name], depth + 1)) return false;
  }
  return true;
}

/** Finds what is no JSON, or would not come back as it was sent. */
export function jsonProblems(content: unknown): readonly ContentProblem[] {
  if (isClean(content, 1)) return [];
  const found: ContentProblem[] = [];
  search(content, '', 1, found);
  return found.slice(0, mostProblems);
}
