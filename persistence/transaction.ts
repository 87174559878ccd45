// A transaction as everything here runs it: READ COMMITTED, within the limits, tried again when the
// database says that the same work may succeed now (a deadlock, a serialization failure).
//
// - The work may run more than once; what it does besides SQL must bear that.
// - `afterCommit` is for what must not happen if the transaction does not: waking a worker.
// - REPEATABLE READ is not offered: there the loser of a race gets 40001 instead of an answer.

import { setTimeout as pause } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Database } from './database.ts';
import type { Limits } from './limits.ts';
import type { Schema } from './schema.ts';
import { blamesRow, mayPass } from './sqlstate.ts';

export type Tx = Transaction<Schema>;

export interface TransactionOptions {
  /** Runs at most so often. */
  readonly attempts?: number;
  /** Other limits than the database's. */
  readonly limits?: Limits;
  /**
   * The work is one claim, sweep or `create`: COMMIT goes with its statement, and it waits once.
   * What it throws afterwards takes nothing back. Where the database blames a row, it runs again
   * with a COMMIT of its own.
   */
  readonly single?: boolean;
  /** Told of each error that leads to another attempt. */
  readonly onRetry?: (error: unknown) => void;
}

interface Pending {
  readonly database: Database;
  readonly single: boolean;
  readonly actions: Map<string, (database: Database) => void>;
}

const pending = new WeakMap<Tx, Pending>();

/**
 * Registers what is done once after this transaction has committed. One action a key.
 * Without effect on a transaction that `transaction` did not begin: polling is the truth there.
 */
export function afterCommit(tx: Tx, key: string, action: (database: Database) => void): void {
  pending.get(tx)?.actions.set(key, action);
}

/** Whether the next statement is the only one of its transaction. */
export const isSingle = (tx: Tx): boolean => pending.get(tx)?.single ?? false;

/** What is registered on `handle` from here on is done after the commit of `tx`. */
export function shareCommit(tx: Tx, handle: Tx): void {
  const shared = pending.get(tx);
  if (shared) pending.set(handle, shared);
}

/**
 * Runs the work in a transaction and commits it.
 * @throws whatever the work throws, after rolling back; CommitInDoubtError when the answer to
 * COMMIT was lost: lock the run's row on another connection, then read, before believing either.
 */
export async function transaction<T>(
  database: Database,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const { attempts = 5, limits, onRetry } = options;
  const db = limits ? database.under(limits) : database.db;
  let { single = false } = options;
  for (let attempt = 1; ; attempt += 1) {
    const actions: Pending['actions'] = new Map();
    let result: T;
    try {
      result = await db.transaction().execute((tx) => {
        pending.set(tx, { database, single, actions });
        return work(tx);
      });
    } catch (error) {
      if (single && blamesRow(error)) {
        single = false;
        continue;
      }
      if (attempt >= attempts || !mayPass(error)) throw error;
      onRetry?.(error);
      await pause(Math.random() * 10 * 2 ** attempt);
      continue;
    }
    // Outside of the try: what is committed is not run again, whatever an action throws.
    for (const action of actions.values()) action(database);
    return result;
  }
}
