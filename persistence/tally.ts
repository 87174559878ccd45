// How often each event of each machine came to each outcome in this process, since it began. What
// was rolled back is not counted. services/metrics reads it.

import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import type { Outcome } from './outcome.ts';
import { afterCommit, type Tx } from './transaction.ts';

type OutcomeName = Outcome<Machine>['outcome'];

export interface Tally {
  readonly machine: string;
  readonly event: string;
  readonly outcome: OutcomeName;
  count: number;
}

type Tallies = Map<string, Tally>;

const committed = new WeakMap<Database, Tallies>();
const pending = new WeakMap<Tx, Tallies>();
let opened = 0;

function add(tallies: Tallies, { machine, event, outcome, count }: Tally): void {
  const key = `${machine} ${event} ${outcome}`;
  const known = tallies.get(key);
  if (known) known.count += count;
  else tallies.set(key, { machine, event, outcome, count });
}

function commit(database: Database, tallies: Tallies): void {
  const all: Tallies = committed.get(database) ?? new Map();
  committed.set(database, all);
  for (const each of tallies.values()) add(all, each);
}

/** Counts outcomes, from the commit of this transaction on. */
export function tally(tx: Tx, given: Tally): void {
  if (given.count === 0) return;
  const known = pending.get(tx);
  if (known) {
    add(known, given);
    return;
  }
  const tallies: Tallies = new Map();
  pending.set(tx, tallies);
  add(tallies, given);
  opened += 1;
  // A key of its own: a tool's handle on a transaction counts beside the transaction itself.
  afterCommit(tx, `tally ${opened}`, (database) => commit(database, tallies));
}

/** What was counted so far. */
export const talliesOf = (database: Database): readonly Readonly<Tally>[] => [
  ...(committed.get(database)?.values() ?? []),
];
