// What only the text of JSON shows, and JSON.parse passes over in silence: a member that is there
// twice, of which the first is lost, and integers whose digits are. body.ts asks for the bodies of
// routes that keep what they are sent.
//
// - A text that JSON.stringify would have written has neither, and needs no second look. That is
//   what browsers send; comparing took a tenth of the time of reading 10 kB sign by sign.
// - The text is known to be JSON, so the reader here need not judge it. It does not recurse.

import { pointerTo } from '../../kinds/json.ts';
import type { FieldProblem } from './problem.ts';

const mostProblems = 20;
const mostLevels = 200;

const details = {
  duplicate_key: 'This is there twice, and only one could be kept.',
  loses_digits: 'Integers beyond 2^53 lose digits on the way: send them as text.',
  too_deep: `A body is at most ${mostLevels} levels deep.`,
} as const;

export interface JsonText {
  readonly problems: readonly FieldProblem[];
  /** The text of a member of the outermost object, as it was sent. */
  textOf(name: string): string | undefined;
}

const sign = {
  quote: 34,
  backslash: 92,
  comma: 44,
  colon: 58,
  openList: 91,
  closeList: 93,
  openObject: 123,
  closeObject: 125,
} as const;

/** The end of the string that begins at `at`, behind its closing quote. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === sign.backslash) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
}

const scalar = /[-+.0-9A-Za-z]+/y;
const integer = /^-?\d+$/;

interface Level {
  readonly pointer: string;
  /** The names that were seen; undefined in a list. */
  readonly names: Set<string> | undefined;
  /** Of the member or element that is being read. */
  name: string | number;
  valueFrom: number;
}

/** Reads a text that JSON.parse took. */
function scan(text: string): JsonText {
  const problems: FieldProblem[] = [];
  const levels: Level[] = [];
  const members = new Map<string, string>();
  const here = () => {
    const level = levels.at(-1);
    return level ? pointerTo(level.pointer, level.name) : '';
  };
  const found = (code: keyof typeof details) => {
    if (problems.length >= mostProblems) return;
    problems.push({ code, pointer: here(), detail: details[code] });
  };
  const endMember = (at: number) => {
    const [outermost] = levels;
    if (levels.length !== 1 || !outermost?.names || typeof outermost.name !== 'string') return;
    members.set(outermost.name, text.slice(outermost.valueFrom, at).trim());
  };
  const open = (names: Set<string> | undefined) => {
    levels.push({ pointer: here(), names, name: names ? '' : 0, valueFrom: -1 });
  };

  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const level = levels.at(-1);
    if (code === sign.quote) {
      const end = endOfString(text, at);
      if (level?.names && level.valueFrom < 0) {
        level.name = JSON.parse(text.slice(at, end)) as string;
        if (level.names.has(level.name)) found('duplicate_key');
        level.names.add(level.name);
      }
      at = end;
      continue;
    }
    if (code === sign.openObject || code === sign.openList) {
      if (levels.length >= mostLevels) {
        found('too_deep');
        break;
      }
      open(code === sign.openObject ? new Set() : undefined);
    } else if (code === sign.closeObject || code === sign.closeList) {
      endMember(at);
      levels.pop();
    } else if (code === sign.colon && level) {
      level.valueFrom = at + 1;
    } else if (code === sign.comma && level) {
      endMember(at);
      level.valueFrom = -1;
      if (typeof level.name === 'number') level.name += 1;
    } else {
      scalar.lastIndex = at;
      const [printed] = scalar.exec(text) ?? [];
      if (printed !== undefined) {
        if (integer.test(printed) && !Number.isSafeInteger(Number(printed))) found('loses_digits');
        at += printed.length;
        continue;
      }
    }
    at += 1;
  }
  return { problems, textOf: (name) => members.get(name) };
}

/** The text of each member as V8 prints it; undefined where it is too deep for that. */
function printedMembers(object: Readonly<Record<string, unknown>>) {
  try {
    return new Map(Object.keys(object).map((name) => [name, JSON.stringify(object[name])]));
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Looks at the text of a body beside what JSON.parse made of it. */
export function readJsonText(text: string, parsed: unknown): JsonText {
  const members = isObject(parsed) ? printedMembers(parsed) : undefined;
  if (!members) return scan(text);
  const all = [...members].map(([name, member]) => `${JSON.stringify(name)}:${member}`);
  if (`{${all.join()}}` !== text) return scan(text);
  return { problems: [], textOf: (name) => members.get(name) };
}
