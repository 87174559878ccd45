// Changes to the schema, one process at a time: migrations, definitions, partitions.
//
// - The lock is an advisory one of the transaction, never of the session: that kind leaks through
//   pools and poolers, and every later deploy hangs on it. A killed process leaves nothing behind.
// - Whoever waits for the lock waits long; whoever holds it waits for a table's lock only briefly
//   and tries again, because everybody else queues behind a waiting ACCESS EXCLUSIVE.
//   Source: PostgreSQL manual, 13.3 Explicit Locking.

import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { Limits } from './limits.ts';
import { sqlstate, sqlstateOf } from './sqlstate.ts';
import { type Tx, transaction } from './transaction.ts';

const attempts = 20;
const minuteMs = 60_000;
const limits: Limits = {
  lockMs: 5 * minuteMs,
  statementMs: 10 * minuteMs,
  idleMs: 11 * minuteMs,
  transactionMs: 15 * minuteMs,
};

async function alone<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  const locked = async (tx: Tx): Promise<T> => {
    const key = sql`hashtextextended('fencepost.maintenance', 0)`;
    await sql`select pg_advisory_xact_lock(${key})`.execute(tx);
    await sql`set local lock_timeout = '2s'`.execute(tx);
    return await work(tx);
  };
  return await transaction(database, locked, { limits });
}

/**
 * Runs schema work in a transaction of its own, serialised over all processes of the database. The
 * work may run more than once.
 */
export async function maintain<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await alone(database, work);
    } catch (error) {
      if (attempt >= attempts || sqlstateOf(error) !== sqlstate.lockNotAvailable) throw error;
      await pause(100 + Math.random() * 400);
    }
  }
}
