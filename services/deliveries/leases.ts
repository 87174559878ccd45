// The deliveries that this process has claimed and not ended: keeps their leases until each end
// is written. The loop takes a lease for each claimed row and ends each once.
//
// - All writes of one process go one after the other. A renewal beside the end of the same row
//   would come too late by a hair and be counted as a lost write.
// - Renewals go on until the last end is written, also while the process drains.
// - A renewal that is not applied aborts the lease's signal: somebody else has the row.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { outbox } from '../../machines/outbox.ts';
import type { Run } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { sendMany } from '../../persistence/door.ts';
import { transaction } from '../../persistence/transaction.ts';
import { backoffMs } from '../backoff.ts';
import { type End, endWriter } from './ends.ts';

export interface Lease {
  readonly id: string;
  /** Aborted when somebody else has the delivery. */
  readonly lost: AbortSignal;
  /** Milliseconds for which the lease surely runs, by this process's monotonic clock. */
  remainingMs(): number;
  /** Resolves when the end is written, or was given up. Without effect once the lease is lost. */
  end(end: End): Promise<void>;
}

interface Held {
  readonly id: string;
  readonly fence: number;
  readonly losing: AbortController;
  expiresAt: number;
  end?: End;
}

const longestBackoffMs = 5000;

export interface LeaseOptions {
  readonly database: Database;
  readonly leaseMs: number;
  readonly log: Logger;
}

export function keepLeases({ database, leaseMs, log }: LeaseOptions) {
  const held = new Map<string, Held>();
  const closing = new AbortController();
  const givingUp = new AbortController();
  const longestWaitMs = Math.min(longestBackoffMs, leaseMs / 3);
  const writeEnds = endWriter({ database, log, longestWaitMs, givingUp: givingUp.signal });
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  }

  function lose(each: Held, why: string): void {
    held.delete(each.id);
    log.warn({ delivery: each.id, attempt: each.fence, why }, 'delivery: the lease is lost');
    each.losing.abort(new Error(`the lease is lost: ${why}`));
  }

  async function renew(): Promise<void> {
    const all = [...held.values()];
    if (all.length === 0) return;
    const since = performance.now();
    const rows = all.map(({ id, fence }) => ({ id, fence, lease_ms: leaseMs }));
    const outcomes = await transaction(database, (tx) => sendMany(tx, outbox, 'renew', rows));
    for (const [i, each] of all.entries()) {
      const outcome = outcomes[i]?.outcome;
      if (outcome === 'applied') each.expiresAt = since + leaseMs;
      else if (held.get(each.id) === each) lose(each, `its renewal was ${outcome}`);
    }
  }

  async function beat(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const waitMs = failures === 0 ? leaseMs / 3 : backoffMs(failures, longestWaitMs);
      await pause(waitMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      try {
        await inTurn(renew);
        failures = 0;
      } catch (error) {
        failures += 1;
        log.warn({ err: error }, 'delivery: leases were not renewed, trying again');
      }
    }
  }

  /** Writes what has ended since the last time, in one statement an event. */
  async function writeEnded(): Promise<void> {
    const ended = [...held.values()].filter((each) => each.end);
    await writeEnds(ended.flatMap(({ id, fence, end }) => (end ? [{ id, fence, end }] : [])));
    for (const each of ended) if (held.get(each.id) === each) held.delete(each.id);
  }

  /** Takes a claimed delivery. `since`: the monotonic clock before the claim was sent. */
  function take(run: Run<typeof outbox>, since: number): Lease {
    const before = held.get(run.id);
    if (before) lose(before, 'it lapsed and was claimed again, here');
    const losing = new AbortController();
    const each: Held = { id: run.id, fence: run.attempts, losing, expiresAt: since + leaseMs };
    held.set(run.id, each);
    return {
      id: run.id,
      lost: losing.signal,
      remainingMs: () => each.expiresAt - performance.now(),
      async end(end) {
        each.end = end;
        await inTurn(writeEnded);
      },
    };
  }

  const beating = beat();
  return {
    take,
    /** Ends that the database does not take at the next attempt are given up. */
    giveUp: () => givingUp.abort(),
    /** Call it once every lease has ended. */
    async close(): Promise<void> {
      closing.abort();
      await beating;
      await turn;
    },
  };
}
