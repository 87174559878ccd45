// The delivery loop: reaps lapsed leases, claims what is due for a channel, sends it, and sees
// that each end is written. server.ts starts one a process; any number of processes may run.
//
// Modes: idle (waits for a wake-up or the poll), full (waits for a slot), away (the database does
// not answer: waits, longer each time, and resumes by itself), stopping (claims nothing, lets the
// running sends end). Every exit from a wait is a time limit or an abort.
//
// - The local deadline is the monotonic time before the claim plus the lease. Nothing is started
//   with less than the send timeout left, so no send of ours outlasts its lease.
// - A claimed delivery that is not started is given back. That costs it nothing.
// - One catch a turn. A send has its own: what a channel throws is that delivery's failure alone.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { outbox } from '../../machines/outbox.ts';
import type { Run } from '../../machines/status-machine.ts';
import { claim, sweep } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';
import type { WakeListener } from '../../persistence/wake-listener.ts';
import { backoffMs } from '../backoff.ts';
import { describeError } from '../describe-error.ts';
import type { Channel, Failed, Sent } from './channel.ts';
import type { End } from './ends.ts';
import { keepLeases, type Lease } from './leases.ts';

export interface DeliveryLoopOptions {
  readonly database: Database;
  readonly wakes: Pick<WakeListener, 'wait'>;
  readonly channel: Channel;
  readonly log: Logger;
  readonly leaseMs: number;
  readonly sendTimeoutMs: number;
  readonly pollMs: number;
  readonly reapMs: number;
  /** Sends at once, at most. */
  readonly concurrency: number;
}

export interface DeliveryLoop {
  /** Stops claiming and resolves when all ends are written, or were given up after the grace. */
  stop(graceMs: number): Promise<void>;
  /** Ends the grace of a stop, whether it has begun or not. */
  hurry(): void;
}

type Delivery = Run<typeof outbox>;

const longestBackoffMs = 10_000;
const sweepLimit = 100;

export function startDeliveryLoop(options: DeliveryLoopOptions): DeliveryLoop {
  const { database, wakes, channel, log, leaseMs, sendTimeoutMs, concurrency } = options;
  const waitMs = Math.min(options.pollMs, options.reapMs);
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const leases = keepLeases({ database, leaseMs, log });
  const running = new Set<Promise<void>>();
  const hurrying = new AbortController();
  let turn = new AbortController();
  let stopping = false;
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function sweepLapsed(): Promise<void> {
    if (performance.now() - sweptAt < options.reapMs) return;
    const lapsed = await transaction(database, (tx) =>
      sweep(tx, outbox, 'lease.expired', { limit: sweepLimit }),
    );
    for (const { id, before, after } of lapsed) {
      const about = { delivery: id, lostBy: before.lease_owner, leaseLosses: after.lease_losses };
      log.warn({ ...about, status: after.status }, 'delivery: lease.expired');
    }
    if (lapsed.length < sweepLimit) sweptAt = performance.now();
  }

  async function attempt(delivery: Delivery, signal: AbortSignal): Promise<Sent | Failed> {
    const { recipient, message_key: messageKey, payload, created_at: createdAt } = delivery;
    try {
      return await channel.send({ recipient, messageKey, payload, createdAt }, signal);
    } catch (error) {
      // A channel that throws is broken, and has perhaps sent all the same.
      return { result: 'failed', retryable: true, unknown: true, error: describeError(error) };
    }
  }

  async function deliver(delivery: Delivery, lease: Lease): Promise<End> {
    const isOver = stopping || hurrying.signal.aborted;
    if (isOver || lease.remainingMs() < sendTimeoutMs) return { event: 'release' };
    const sending = new AbortController();
    const abortLost = () => sending.abort(lease.lost.reason);
    const abortHurried = () => sending.abort(new Error('the process had to stop'));
    lease.lost.addEventListener('abort', abortLost);
    hurrying.signal.addEventListener('abort', abortHurried);
    const late = new Error(`no end within ${sendTimeoutMs} ms`);
    const timer = setTimeout(() => sending.abort(late), sendTimeoutMs);
    try {
      const end = await attempt(delivery, sending.signal);
      if (end.result === 'sent') return { event: 'sent', receipt: end.receipt };
      const { retryable, unknown, error } = end;
      if (hurrying.signal.aborted && retryable && !unknown) return { event: 'release' };
      return { event: 'fail', retryable, unknown, error };
    } finally {
      clearTimeout(timer);
      lease.lost.removeEventListener('abort', abortLost);
      hurrying.signal.removeEventListener('abort', abortHurried);
    }
  }

  function start(delivery: Delivery, since: number): void {
    const lease = leases.take(delivery, since);
    const run = deliver(delivery, lease)
      .then((end) => lease.end(end))
      .catch((error) => log.error({ err: error, delivery: lease.id }, 'delivery: a bug'))
      .finally(() => {
        const wasFull = running.size >= concurrency;
        running.delete(run);
        if (wasFull) turn.abort();
      });
    running.add(run);
  }

  /** Claims as many as there are free slots, and starts them. Returns whether there may be more. */
  async function claimDue(): Promise<boolean> {
    const limit = concurrency - running.size;
    if (limit <= 0) return true;
    const where = { channel: channel.name };
    const since = performance.now();
    const due = await transaction(database, (tx) =>
      claim(tx, outbox, 'claim', { limit, where, owner, lease_ms: leaseMs }),
    );
    for (const delivery of due) start(delivery, since);
    return due.length === limit;
  }

  async function oneTurn(signal: AbortSignal): Promise<void> {
    await sweepLapsed();
    const more = await claimDue();
    if (!more) await wakes.wait(outbox.id, waitMs, signal);
    else if (running.size >= concurrency) await pause(waitMs, undefined, { signal });
  }

  async function run(): Promise<void> {
    for (let failures = 0; !stopping; ) {
      turn = new AbortController();
      try {
        await oneTurn(turn.signal);
        failures = 0;
      } catch (error) {
        // A slot is free, or the loop is stopping.
        if (turn.signal.aborted) continue;
        failures += 1;
        const tryAgainMs = Math.round(backoffMs(failures, longestBackoffMs));
        log.error({ err: error, tryAgainMs }, 'delivery: a turn failed, trying again');
        await pause(tryAgainMs, undefined, { signal: turn.signal }).catch(() => undefined);
      }
    }
  }

  const turns = run();
  const hurry = (): void => {
    hurrying.abort();
    leases.giveUp();
  };
  return {
    hurry,
    async stop(graceMs) {
      stopping = true;
      turn.abort();
      const grace = setTimeout(hurry, graceMs);
      await turns;
      await Promise.all(running);
      clearTimeout(grace);
      await leases.close();
    },
  };
}
