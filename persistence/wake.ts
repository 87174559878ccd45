// Tells workers that runs became due: one NOTIFY a machine, after the commit, coalesced.
//
// - Polling is the truth. A wake-up only shortens the wait; one that is lost costs a poll.
// - It is sent after the commit on a connection of its own, not in the transaction: a NOTIFY takes
//   a global lock at commit, which cost single enqueues a factor of 3.5 when each sent one.
// - Its own commit does not wait for the disk: there is nothing in it that a crash could lose.
// - Leading edge at once, then at most every 20 ms a process, with a last one for what came
//   between.
//   Source: PostgreSQL manual, NOTIFY.

import { sql } from 'kysely';
import { arrowsBy, arrowsOf, dueColumn } from '../machines/arrows.ts';
import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import { afterCommit, type Tx } from './transaction.ts';

export const wakeChannel = 'fencepost_due';
const spacingMs = 20;

interface Wakes {
  readonly machines: Set<string>;
  timer: NodeJS.Timeout | undefined;
}
const perDatabase = new WeakMap<Database, Wakes>();

async function notify(database: Database, machines: readonly string[]): Promise<void> {
  try {
    await sql`select set_config('synchronous_commit', 'off', true), pg_notify(${wakeChannel}, m)
      from unnest(${machines}::text[]) as m`.execute(database.db);
  } catch {
    // The database is away or closing: whoever waits will poll.
  }
}

function flush(database: Database, wakes: Wakes): void {
  const machines = [...wakes.machines];
  wakes.machines.clear();
  if (machines.length === 0) {
    wakes.timer = undefined;
    return;
  }
  wakes.timer = setTimeout(() => flush(database, wakes), spacingMs);
  wakes.timer.unref();
  void notify(database, machines);
}

/** Wakes who waits for the topic: the id of a machine, or what else a domain announces. */
export function wake(database: Database, topic: string): void {
  if (database.behindPooler) return;
  const wakes = perDatabase.get(database) ?? { machines: new Set(), timer: undefined };
  perDatabase.set(database, wakes);
  wakes.machines.add(topic);
  if (!wakes.timer) flush(database, wakes);
}

/** Registers a wake-up of the machine's workers for when this transaction has committed. */
export function wakeAfterCommit(tx: Tx, machine: Pick<Machine, 'id'>): void {
  afterCommit(tx, `wake ${machine.id}`, (database) => wake(database, machine.id));
}

interface Moved {
  readonly outcome: string;
  readonly after?: Readonly<Record<string, unknown>>;
  readonly at?: number;
}

/** The same, if a transition led to where a claim may take the run at once. */
export function wakeIfDue(
  tx: Tx,
  machine: Machine,
  event: string,
  outcomes: readonly Moved[],
): void {
  const claims = arrowsOf(machine).filter((arrow) => machine.events[arrow.event]?.by === 'claim');
  const claimable = new Set(claims.map((arrow) => arrow.from));
  // Most events lead nowhere a claim leaves from; then no image has to be decoded.
  if (!arrowsBy(machine, event).some((arrow) => claimable.has(arrow.to))) return;
  const due = outcomes.some((moved) => {
    if (moved.outcome !== 'applied') return false;
    const { after = {}, at = 0 } = moved;
    return claims.some((arrow) => {
      const column = dueColumn(arrow);
      return arrow.from === after['status'] && (!column || Number(after[column]) <= at);
    });
  });
  if (due) wakeAfterCommit(tx, machine);
}
