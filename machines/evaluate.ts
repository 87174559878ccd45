// What each node of the vocabulary means, in memory. This is the specification that the compiled
// SQL is tested against, node by node and edge by edge; `in-memory.ts` and the door's reasons use
// it.
//
// - Null is unknown: an operator over a null is null, a condition over it is neither true nor
//   false.
// - An instant is whole microseconds. They are exact until the year 2255, where 2^53 ends.

import type { Node } from './vocabulary.ts';

/** What the database gave the row besides its columns: one reading of its clock, and one dice. */
export interface Moment {
  /** Whole microseconds since 1970, read after the row was locked. */
  readonly at: number;
  /** At least 0, below 1. */
  readonly dice: number;
}

export interface Scope extends Moment {
  readonly row: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Who sends the event. Read where an operator's event asks for it. */
  readonly actor?: unknown;
}

const largestInt = 2_147_483_647;
const microsecondsPerMs = 1000;

const numbers = (values: readonly unknown[]): number[] =>
  values.filter((value) => typeof value === 'number');

function compare(operator: 'eq' | 'ne' | 'lt' | 'lte', pair: readonly [Node, Node], scope: Scope) {
  const a = evaluate(pair[0], scope);
  const b = evaluate(pair[1], scope);
  if (a === null || b === null) return null;
  if (operator === 'eq') return a === b;
  if (operator === 'ne') return a !== b;
  if (typeof a !== 'number' || typeof b !== 'number') {
    throw new TypeError(`${operator} orders numbers and instants only`);
  }
  return operator === 'lt' ? a < b : a <= b;
}

function waitMs(failures: unknown, baseMs: number, capMs: number, dice: number): number | null {
  if (typeof failures !== 'number') return null;
  const most = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(failures, 0), 30));
  return Math.floor(baseMs / 2 + dice * (most - baseMs / 2));
}

/** Evaluates an expression over the row before the transition. A missing name reads as null. */
export function evaluate(node: Node, scope: Scope): unknown {
  const all = (nodes: readonly Node[]) => nodes.map((each) => evaluate(each, scope));
  if ('col' in node) return scope.row[node.col] ?? null;
  if ('field' in node) return scope.fields[node.field] ?? null;
  if ('lit' in node) return node.lit;
  if ('clock' in node) return scope.at;
  if ('actor' in node) return scope.actor ?? null;
  if ('eq' in node) return compare('eq', node.eq, scope);
  if ('ne' in node) return compare('ne', node.ne, scope);
  if ('lt' in node) return compare('lt', node.lt, scope);
  if ('lte' in node) return compare('lte', node.lte, scope);
  if ('isNull' in node) return evaluate(node.isNull, scope) === null;
  if ('not' in node) {
    const value = evaluate(node.not, scope);
    return value === null ? null : !value;
  }
  if ('and' in node) {
    const values = all(node.and);
    return values.includes(false) ? false : values.includes(null) ? null : true;
  }
  if ('or' in node) {
    const values = all(node.or);
    return values.includes(true) ? true : values.includes(null) ? null : false;
  }
  if ('coalesce' in node) return all(node.coalesce).find((value) => value !== null) ?? null;
  if ('least' in node || 'greatest' in node) {
    const known = numbers(all('least' in node ? node.least : node.greatest));
    if (known.length === 0) return null;
    return 'least' in node ? Math.min(...known) : Math.max(...known);
  }
  if ('increment' in node) {
    const count = evaluate(node.increment, scope);
    return typeof count === 'number' ? Math.min(count, largestInt - 1) + 1 : null;
  }
  if ('after' in node) {
    const [time, ms] = all(node.after);
    if (typeof time !== 'number' || typeof ms !== 'number') return null;
    return time + ms * microsecondsPerMs;
  }
  const { failures, baseMs, capMs } = node.backoff;
  return waitMs(evaluate(failures, scope), baseMs, capMs, scope.dice);
}
