// The outcome of sending an event to a run, read off the statement's one answer: no second read.

import { arrowsBy, isLeased } from '../machines/arrows.ts';
import { evaluate } from '../machines/evaluate.ts';
import { kindOfDeclared } from '../machines/kind-of.ts';
import type { Machine, Run } from '../machines/status-machine.ts';
import type { Kind } from '../machines/vocabulary.ts';
import type { Statement } from './compile.ts';
import { parseInstant } from './instant.ts';
import type { ValueFault } from './values.ts';

/**
 * A run as a transition saw or left it: everything that may change. Of the frozen columns it has
 * those that the event reads; a claim brings them all.
 */
export type Image<M extends Machine> = Omit<Run<M>, M['frozen'][number]> & Partial<Run<M>>;

/**
 * It happened. What it brings is decoded when it is looked at, so take from it what you need: a
 * spread copies `outcome` and `id` alone.
 */
export interface Applied<M extends Machine> {
  readonly outcome: 'applied';
  readonly id: string;
  readonly before: Image<M>;
  readonly after: Image<M>;
  /** The database's clock after the row was locked, and the row's dice: enough to replay it. */
  readonly at: number;
  readonly dice: number;
}

/** There is no such run. */
interface Missing {
  readonly outcome: 'missing';
  readonly id: string;
}

/** An owner's event from who is not the owner any more: another fence, or no owner at all. */
export interface Lost {
  readonly outcome: 'lost';
  readonly id: string;
  readonly status: string;
  readonly fence: number;
}

/** The machine does not let this event happen now. */
interface Refused<M extends Machine> {
  readonly outcome: 'refused';
  readonly id: string;
  readonly status: string;
  /** The names of the conditions that were not true; `wrong_status` where it has no such arrow. */
  readonly because: readonly string[];
  readonly before: Image<M>;
}

/** A value or a constraint refused this run alone. Nothing of it was written. */
interface Invalid {
  readonly outcome: 'invalid';
  readonly id: string;
  readonly code: ValueFault | 'constraint' | 'bad_value';
  /** The field, or the constraint, at fault. */
  readonly where: string;
  readonly detail: string;
}

export type Outcome<M extends Machine> = Applied<M> | Missing | Lost | Refused<M> | Invalid;

/** A row of the answer, in the statement's column order, as the text that Postgres sent. */
export type Answer = readonly (string | null)[];

const decoders: Readonly<Record<Kind, (text: string) => unknown>> = {
  int: Number,
  text: (text) => text,
  bool: (text) => text === 't',
  instant: parseInstant,
  uuid: (text) => text,
  json: JSON.parse,
};

const leading = 4;

/** Fills `image` with the columns from their places in the answer. */
function decode(
  image: Record<string, unknown>,
  machine: Machine,
  columns: readonly string[],
  answer: Answer,
  from: number,
): Record<string, unknown> {
  for (let i = 0; i < columns.length; i += 1) {
    const name = columns[i] ?? '';
    const text = answer[from + i] ?? null;
    const kind = kindOfDeclared(machine.columns[name] ?? 'text');
    image[name] = text === null ? null : decoders[kind](text);
  }
  return image;
}

const names = { id: 1, status: 2, seq: 3 };

/** The status of the run before the event; null where there is no such run. */
export const statusIn = (answer: Answer): string | null => answer[names.status] ?? null;

/** Whether the event moved the run. */
export const movedIn = (statement: Statement, answer: Answer): boolean =>
  (answer[leading + statement.before.length + 2] ?? null) !== null;

interface Shapes {
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
}
const shapes = new WeakMap<Statement, Shapes>();

/**
 * The images of a statement, empty: a copy of one has all its properties from the start. An image
 * that grew by one at a time took 2.7 kB, most of it garbage.
 */
function shapesOf(statement: Statement): Shapes {
  const known = shapes.get(statement);
  if (known) return known;
  const empty = (columns: readonly string[]) =>
    Object.fromEntries(['id', 'status', 'seq', ...columns].map((name) => [name, null]));
  const { before, after } = statement;
  const made = { before: empty(before), after: empty([...before, ...after]) };
  shapes.set(statement, made);
  return made;
}

/**
 * One answer, decoded when it is looked at: most callers look at the outcome alone, and decoding
 * everything took half of the time of a batch.
 */
class Reading<M extends Machine> implements Applied<M> {
  readonly outcome = 'applied';
  readonly id: string;
  readonly #machine: M;
  readonly #statement: Statement;
  readonly #answer: Answer;

  constructor(machine: M, statement: Statement, answer: Answer) {
    this.id = answer[names.id] ?? '';
    this.#machine = machine;
    this.#statement = statement;
    this.#answer = answer;
  }

  get #momentAt(): number {
    return leading + this.#statement.before.length;
  }

  get at(): number {
    return parseInstant(this.#answer[this.#momentAt] ?? '');
  }

  get dice(): number {
    return Number(this.#answer[this.#momentAt + 1]);
  }

  get before(): Image<M> {
    return this.#decodeBefore(shapesOf(this.#statement).before) as Image<M>;
  }

  get after(): Image<M> {
    const image = this.#decodeBefore(shapesOf(this.#statement).after);
    image['status'] = this.#answer[this.#momentAt + 2];
    image['seq'] = Number(image['seq']) + 1;
    const { after } = this.#statement;
    return decode(image, this.#machine, after, this.#answer, this.#momentAt + 3) as Image<M>;
  }

  #decodeBefore(shape: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const image: Record<string, unknown> = { ...shape };
    image['id'] = this.id;
    image['status'] = statusIn(this.#answer);
    image['seq'] = Number(this.#answer[names.seq]);
    return decode(image, this.#machine, this.#statement.before, this.#answer, leading);
  }

  /** A printed outcome shows what a caller sees. */
  toJSON(): Applied<M> {
    const { outcome, id, before, after, at, dice } = this;
    return { outcome, id, before, after, at, dice };
  }
}

/** Reads an answer as the outcome of a transition that happened. */
export const applied = <M extends Machine>(
  machine: M,
  statement: Statement,
  answer: Answer,
): Applied<M> => new Reading(machine, statement, answer);

function reasons<M extends Machine>(
  machine: M,
  event: string,
  read: Applied<M>,
  fields: Readonly<Record<string, unknown>>,
): readonly string[] {
  const { before, at, dice } = read;
  const arrows = arrowsBy(machine, event).filter((arrow) => arrow.from === before.status);
  if (arrows.length === 0) return ['wrong_status'];
  const scope = { row: before, fields, at, dice, actor: fields['actor'] };
  const untrue = arrows.flatMap((arrow) =>
    Object.entries(arrow.guard)
      .filter(([, condition]) => evaluate(condition, scope) !== true)
      .map(([name]) => name),
  );
  return [...new Set(untrue)];
}

/** Reads one answer of a by-ids statement, for the event that was sent. */
export function readOutcome<M extends Machine>(
  machine: M,
  event: string,
  statement: Statement,
  sent: { readonly fence?: number; readonly [field: string]: unknown },
  answer: Answer,
): Outcome<M> {
  const status = statusIn(answer);
  const read = applied(machine, statement, answer);
  const { id } = read;
  if (status === null) return { outcome: 'missing', id };
  if (movedIn(statement, answer)) return read;
  const { before } = read;
  const fence = Number((before as Readonly<Record<string, unknown>>)[machine.fence]);
  const byOwner = machine.events[event]?.by === 'owner';
  if (byOwner && (fence !== sent.fence || !isLeased(machine, status))) {
    return { outcome: 'lost', id, status, fence };
  }
  return { outcome: 'refused', id, status, because: reasons(machine, event, read, sent), before };
}
