// The outcome of sending an event to a run, read off the statement's one answer: no second read.

import { arrowsBy, isLeased } from '../machines/arrows.ts';
import { evaluate } from '../machines/evaluate.ts';
import type { Machine, Run } from '../machines/status-machine.ts';
import type { Statement } from './compile.ts';
import type { ValueFault } from './values.ts';

/**
 * A run as a transition saw or left it: everything that may change. Of the frozen columns it has
 * those that the event reads; a claim brings them all.
 */
export type Image<M extends Machine> = Omit<Run<M>, M['frozen'][number]> & Partial<Run<M>>;

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

/** A row of the answer, in the statement's column order. */
export type Answer = readonly unknown[];

interface Seen {
  readonly id: string;
  readonly status: string | null;
  readonly before: Record<string, unknown>;
  readonly at: number;
  readonly dice: number;
  readonly after: Record<string, unknown> | undefined;
}

const leading = 4;

/** Takes an answer apart. `status` is null where there is no such run. */
export function seen(statement: Statement, answer: Answer): Seen {
  const id = answer[1] as string;
  const status = answer[2] as string | null;
  const before: Record<string, unknown> = { id, status, seq: answer[3] };
  let place = leading;
  for (const column of statement.before) before[column] = answer[place++];
  const at = answer[place++] as number;
  const dice = answer[place++] as number;
  const became = answer[place++];
  if (became === null) return { id, status, before, at, dice, after: undefined };
  const after: Record<string, unknown> = {
    ...before,
    status: became,
    seq: (answer[3] as number) + 1,
  };
  for (const column of statement.after) after[column] = answer[place++];
  return { id, status, before, at, dice, after };
}

function reasons(
  machine: Machine,
  event: string,
  run: Seen,
  fields: Readonly<Record<string, unknown>>,
): readonly string[] {
  const arrows = arrowsBy(machine, event).filter((arrow) => arrow.from === run.status);
  if (arrows.length === 0) return ['wrong_status'];
  const scope = { row: run.before, fields, at: run.at, dice: run.dice };
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
  sent: { readonly fence?: number; readonly fields: Readonly<Record<string, unknown>> },
  answer: Answer,
): Outcome<M> {
  const run = seen(statement, answer);
  const { id, status } = run;
  if (status === null) return { outcome: 'missing', id };
  const before = run.before as Image<M>;
  if (run.after) {
    return {
      outcome: 'applied',
      id,
      before,
      after: run.after as Image<M>,
      at: run.at,
      dice: run.dice,
    };
  }
  const fence = run.before[machine.fence] as number;
  const byOwner = machine.events[event]?.by === 'owner';
  if (byOwner && (fence !== sent.fence || !isLeased(machine, status))) {
    return { outcome: 'lost', id, status, fence };
  }
  return {
    outcome: 'refused',
    id,
    status,
    because: reasons(machine, event, run, sent.fields),
    before,
  };
}
