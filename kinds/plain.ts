// JSON as JSON.stringify writes it, taken apart without making values of it. The server reads the
// contents of saves this way: of 10 kB, JSON.parse and the walks over what it made took 850 µs of
// a busy process, this takes a fifth.
//
// - What comes out says of a text what JSON.parse, jsonProblems and canonical would say: that there
//   is nothing wrong with it, what its members are, and what its canonical text is.
// - It judges nothing else. A text that is written otherwise, or with which something is wrong, is
//   not plain, and is read the long way, which knows what to say. So there is nothing here that
//   could be refused, and nothing that recurses deeper than `mostLevels`.
// - Not plain: white space, escapes that are not the short ones, names with any, numbers that are
//   printed in another way or have more than 15 digits, a member twice.
// - The text comes from bytes that were UTF-8: it has no half surrogate pairs.

import type { Json } from './json.ts';

/** A number, a string, true, false or null: its text. Else what was taken apart. */
export type PlainValue = string | PlainJson;

/** The members of an object, in the order in which they were written. */
export interface PlainMembers {
  readonly names: readonly string[];
  readonly values: readonly PlainValue[];
}

/** An object or a list. A class, so that nobody can send something that looks like it. */
export class PlainJson {
  /** As it was sent. */
  readonly text: string;
  /** As `canonical` prints it. */
  readonly canonical: string;
  /** Undefined for a list. */
  readonly members: PlainMembers | undefined;

  constructor(text: string, canonical: string, members: PlainMembers | undefined) {
    this.text = text;
    this.canonical = canonical;
    this.members = members;
  }
}

export const plainText = (plain: PlainValue): string =>
  typeof plain === 'string' ? plain : plain.text;

/** Reads the value, which costs what it was to save. A string without an escape is cut out. */
export function plainValue(plain: PlainValue): Json {
  const text = plainText(plain);
  if (text.charCodeAt(0) === sign.quote && !text.includes('\\')) return text.slice(1, -1);
  return JSON.parse(text) as Json;
}

/** Far below what the limits of bodies and contents are. */
const mostLevels = 32;
/** So many digits are an integer that a number can be, whichever they are. */
const mostDigits = 15;

const sign = {
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
function endOfName(text: string, at: number): number {
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

function endOfScalar(text: string, at: number): number {
  if (text.charCodeAt(at) === sign.quote) return endOfString(text, at);
  for (const word of ['true', 'false', 'null']) {
    if (text.startsWith(word, at)) return at + word.length;
  }
  return endOfNumber(text, at);
}

/** Merges two ascending lists of places in `names`; undefined where a name is in both. */
function merged(names: readonly string[], some: readonly number[], others: readonly number[]) {
  const all: number[] = [];
  let [i, j] = [0, 0];
  while (i < some.length && j < others.length) {
    const [a, b] = [some[i] ?? 0, others[j] ?? 0];
    const [name, other] = [names[a] ?? '', names[b] ?? ''];
    if (name === other) return undefined;
    if (name < other) {
      all.push(a);
      i += 1;
    } else {
      all.push(b);
      j += 1;
    }
  }
  for (; i < some.length; i += 1) all.push(some[i] ?? 0);
  for (; j < others.length; j += 1) all.push(others[j] ?? 0);
  return all;
}

const inOrder: readonly number[] = [];

/**
 * The places of the names in the order of their UTF-16 code units; undefined where one is there
 * twice, `inOrder` where they ascend already. Ascending runs are merged: tables have few of them,
 * as A1 to A9, A10 to A99.
 */
function orderOf(names: readonly string[]): readonly number[] | undefined {
  const runs: number[][] = [];
  let run: number[] = [];
  let before: string | undefined;
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i] ?? '';
    if (before !== undefined && name <= before) {
      runs.push(run);
      run = [];
    }
    run.push(i);
    before = name;
  }
  if (runs.length === 0) return inOrder;
  runs.push(run);
  while (runs.length > 1) {
    const [some = [], others = []] = runs.splice(0, 2);
    const both = merged(names, some, others);
    if (!both) return undefined;
    runs.push(both);
  }
  return runs[0];
}

interface Cursor {
  readonly text: string;
  at: number;
}

const canonicalOf = (plain: PlainValue): string =>
  typeof plain === 'string' ? plain : plain.canonical;

const isAsWritten = (plain: PlainValue): boolean =>
  typeof plain === 'string' || plain.canonical === plain.text;

/** Prints a member in canonical text: most are cut out of the text as they are. */
function printed(text: string, from: number, name: string, value: PlainValue): string {
  const between = name.length + 3;
  if (!isAsWritten(value)) return `${text.slice(from, from + between)}${canonicalOf(value)}`;
  return text.slice(from, from + between + plainText(value).length);
}

/** `starts` says where in the text the members begin. */
function objectOf(text: string, members: PlainMembers, starts: readonly number[]) {
  const { names, values } = members;
  const order = orderOf(names);
  if (!order) return undefined;
  if (order === inOrder && values.every(isAsWritten)) return new PlainJson(text, text, members);
  const parts: string[] = [];
  for (let i = 0; i < names.length; i += 1) {
    const at = order === inOrder ? i : (order[i] ?? 0);
    parts.push(printed(text, starts[at] ?? 0, names[at] ?? '', values[at] ?? ''));
  }
  return new PlainJson(text, `{${parts.join()}}`, members);
}

function listOf(text: string, values: readonly PlainValue[]): PlainJson {
  const canonical = values.every(isAsWritten) ? text : `[${values.map(canonicalOf).join()}]`;
  return new PlainJson(text, canonical, undefined);
}

function readObject(cursor: Cursor, levels: number): PlainJson | undefined {
  const { text, at: from } = cursor;
  const names: string[] = [];
  const values: PlainValue[] = [];
  const starts: number[] = [];
  cursor.at += 1;
  let isOver = text.charCodeAt(cursor.at) === sign.closeObject;
  while (!isOver) {
    const end = endOfName(text, cursor.at);
    if (end < 0 || text.charCodeAt(end) !== sign.colon) return undefined;
    starts.push(cursor.at - from);
    names.push(text.slice(cursor.at + 1, end - 1));
    cursor.at = end + 1;
    const value = readValue(cursor, levels);
    if (value === undefined) return undefined;
    values.push(value);
    const code = text.charCodeAt(cursor.at);
    isOver = code === sign.closeObject;
    if (isOver) break;
    if (code !== sign.comma) return undefined;
    cursor.at += 1;
  }
  cursor.at += 1;
  return objectOf(text.slice(from, cursor.at), { names, values }, starts);
}

function readList(cursor: Cursor, levels: number): PlainJson | undefined {
  const { text, at: from } = cursor;
  const values: PlainValue[] = [];
  cursor.at += 1;
  let isOver = text.charCodeAt(cursor.at) === sign.closeList;
  while (!isOver) {
    const value = readValue(cursor, levels);
    if (value === undefined) return undefined;
    values.push(value);
    const code = text.charCodeAt(cursor.at);
    isOver = code === sign.closeList;
    if (isOver) break;
    if (code !== sign.comma) return undefined;
    cursor.at += 1;
  }
  cursor.at += 1;
  return listOf(text.slice(from, cursor.at), values);
}

function readValue(cursor: Cursor, levels: number): PlainValue | undefined {
  const { text, at } = cursor;
  const code = text.charCodeAt(at);
  if (code === sign.openObject || code === sign.openList) {
    if (levels === 0) return undefined;
    return code === sign.openObject ? readObject(cursor, levels - 1) : readList(cursor, levels - 1);
  }
  const end = endOfScalar(text, at);
  if (end < 0) return undefined;
  cursor.at = end;
  return text.slice(at, end);
}

/** Reads an object or a list; undefined where its text is not plain. */
export function readPlain(text: string): PlainJson | undefined {
  const cursor: Cursor = { text, at: 0 };
  const plain = readValue(cursor, mostLevels);
  return typeof plain === 'object' && cursor.at === text.length ? plain : undefined;
}
