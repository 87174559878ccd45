// JSON as JSON.stringify writes it, taken apart without making values of it. The server reads the
// contents of saves this way: of 10 kB, JSON.parse and the walks over what it made took 850 µs of
// a busy process, this and the look at its entries take 230.
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
import { endOfName, endOfScalar, sign } from './plain-scan.ts';

/** A number, a string, true, false or null: its text. Else what was taken apart. */
export type PlainValue = string | PlainJson;

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

/**
 * The members of an object, in the order in which they were written. Values are cut out of the text
 * when they are asked for: what is kept while a save is under way is copied by the collector.
 */
export class PlainMembers {
  readonly names: readonly string[];
  readonly #text: string;
  readonly #places: Places;

  constructor(text: string, places: Places) {
    this.names = places.names;
    this.#text = text;
    this.#places = places;
  }

  valueAt(i: number): PlainValue {
    const { names, starts, inner } = this.#places;
    const from = (starts[i] ?? 0) + (names[i] ?? '').length + around;
    return inner.get(i) ?? this.#text.slice(from, (starts[i + 1] ?? 0) - 1);
  }
}

/** Where members are in a text. */
interface Places {
  readonly names: string[];
  /** Each from the quote of its name to a sign before the next one; and one behind the last. */
  readonly starts: number[];
  /** The values that are objects or lists. */
  readonly inner: Map<number, PlainJson>;
}

/** Two quotes and a colon. */
const around = 3;

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
  let runs: number[][] = [];
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
  // Two by two, so that a table of any order costs n log n.
  while (runs.length > 1) {
    const longer: number[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const both = merged(names, runs[i] ?? [], runs[i + 1] ?? []);
      if (!both) return undefined;
      longer.push(both);
    }
    runs = longer;
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
function printed(text: string, { names, starts, inner }: Places, i: number): string {
  const value = inner.get(i);
  const from = starts[i] ?? 0;
  if (!value || isAsWritten(value)) return text.slice(from, (starts[i + 1] ?? 0) - 1);
  return `${text.slice(from, from + (names[i] ?? '').length + around)}${value.canonical}`;
}

function objectOf(text: string, own: string, places: Places): PlainJson | undefined {
  const { names, inner } = places;
  const order = orderOf(names);
  if (!order) return undefined;
  const members = new PlainMembers(text, places);
  if (order === inOrder && [...inner.values()].every(isAsWritten)) {
    return new PlainJson(own, own, members);
  }
  const parts: string[] = [];
  for (let i = 0; i < names.length; i += 1) {
    parts.push(printed(text, places, order === inOrder ? i : (order[i] ?? 0)));
  }
  return new PlainJson(own, `{${parts.join()}}`, members);
}

function listOf(text: string, values: readonly PlainValue[]): PlainJson {
  const canonical = values.every(isAsWritten) ? text : `[${values.map(canonicalOf).join()}]`;
  return new PlainJson(text, canonical, undefined);
}

function readObject(cursor: Cursor, levels: number): PlainJson | undefined {
  const { text, at: from } = cursor;
  const places: Places = { names: [], starts: [], inner: new Map() };
  const { names, starts, inner } = places;
  cursor.at += 1;
  let isOver = text.charCodeAt(cursor.at) === sign.closeObject;
  while (!isOver) {
    const end = endOfName(text, cursor.at);
    if (end < 0 || text.charCodeAt(end) !== sign.colon) return undefined;
    starts.push(cursor.at);
    names.push(text.slice(cursor.at + 1, end - 1));
    cursor.at = end + 1;
    if (isOpening(text.charCodeAt(cursor.at))) {
      const value = readInner(cursor, levels);
      if (!value) return undefined;
      inner.set(names.length - 1, value);
    } else {
      cursor.at = endOfScalar(text, cursor.at);
      if (cursor.at < 0) return undefined;
    }
    const code = text.charCodeAt(cursor.at);
    isOver = code === sign.closeObject;
    if (isOver) break;
    if (code !== sign.comma) return undefined;
    cursor.at += 1;
  }
  cursor.at += 1;
  starts.push(cursor.at);
  return objectOf(text, text.slice(from, cursor.at), places);
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

const isOpening = (code: number): boolean => code === sign.openObject || code === sign.openList;

function readInner(cursor: Cursor, levels: number): PlainJson | undefined {
  if (levels === 0) return undefined;
  const isList = cursor.text.charCodeAt(cursor.at) === sign.openList;
  return isList ? readList(cursor, levels - 1) : readObject(cursor, levels - 1);
}

function readValue(cursor: Cursor, levels: number): PlainValue | undefined {
  const { text, at } = cursor;
  if (isOpening(text.charCodeAt(at))) return readInner(cursor, levels);
  const end = endOfScalar(text, at);
  if (end < 0) return undefined;
  cursor.at = end;
  return text.slice(at, end);
}

/** Reads an object or a list; undefined where its text is not plain. */
export function readPlain(text: string): PlainJson | undefined {
  const cursor: Cursor = { text, at: 0 };
  if (!isOpening(text.charCodeAt(0))) return undefined;
  const plain = readInner(cursor, mostLevels);
  return cursor.at === text.length ? plain : undefined;
}
