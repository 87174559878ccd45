// What may happen to a run from where it is, and why the rest may not: one reading of a
// declaration, for buttons and for whoever asks why there is none.
//
// - It looks at the row as it was read. Only sending the event decides.
// - Conditions over an event's fields are not judged: nobody has filled them in yet.

import { arrowsBy } from './arrows.ts';
import { evaluate } from './evaluate.ts';
import type { Machine, Sender } from './status-machine.ts';
import type { Node } from './vocabulary.ts';

export interface Choice {
  readonly name: string;
  readonly kind: 'event' | 'command';
  /** Whose it is to send. Commands are an operator's. */
  readonly by: Sender;
  /** Names of what stands against it: `wrong_status`, or the guards that are not true. */
  readonly because: readonly string[];
  /** The statuses from which there is an arrow for it. */
  readonly from: readonly string[];
}

function readsField(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false;
  return 'field' in node || Object.values(node).some(readsField);
}

interface Row {
  readonly status: string;
  readonly [column: string]: unknown;
}

interface Seen {
  readonly row: Row;
  /** When the row was read, in microseconds. */
  readonly at: number;
  /** Who looks at it. */
  readonly actor: string | undefined;
}

function untrue(guard: Readonly<Record<string, Node>>, seen: Seen): readonly string[] {
  const scope = { ...seen, fields: {}, dice: 0 };
  return Object.entries(guard)
    .filter(([, condition]) => !readsField(condition) && evaluate(condition, scope) !== true)
    .map(([name]) => name);
}

function eventChoice(machine: Machine, name: string, seen: Seen): Choice {
  const arrows = arrowsBy(machine, name);
  const by = machine.events[name]?.by ?? 'operator';
  const from = [...new Set(arrows.map((arrow) => arrow.from))];
  const mine = arrows.filter((arrow) => arrow.from === seen.row.status);
  const against = mine.map(({ guard }) => untrue(guard, seen));
  const isOpen = against.some((names) => names.length === 0);
  const because = isOpen ? [] : [...new Set(against.flat())];
  return { name, kind: 'event', by, from, because: mine.length > 0 ? because : ['wrong_status'] };
}

/**
 * Every event and command of the machine, for a run as it was read at `at` (microseconds). Without
 * an actor a condition over who asks is not true.
 */
export function choicesOf(
  machine: Machine,
  row: Row,
  at: number,
  actor?: string,
): readonly Choice[] {
  const seen = { row, at, actor };
  const events = Object.keys(machine.events).map((name) => eventChoice(machine, name, seen));
  const commands = Object.entries(machine.commands ?? {}).map(
    ([name, { from }]): Choice => ({
      name,
      kind: 'command',
      by: 'operator',
      from,
      because: from.includes(row.status) ? [] : ['wrong_status'],
    }),
  );
  return [...events, ...commands];
}
