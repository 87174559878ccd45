// The slots of one worker: claims runs into a buffer, begins as many as there are slots, and hands
// over their ends. worker.ts decides when to claim; the slots outlive it when it is started again.
//
// - A run being handled is a plain promise, not an actor: there may be tens of thousands a second.
// - A slot is free when its handler has ended; the end is written meanwhile. What is not written
//   yet counts against what may be claimed, so a slow database holds the claims back.
// - Nothing is begun with less than the time limit left, once draining has begun, or after the
//   lease was lost. What was claimed and is not begun is given back where the machine has an event
//   for it.

import type { Logger } from 'pino';
import type { EventsBy, Machine, Run } from '../../machines/status-machine.ts';
import { type ClaimOptions, claim } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';
import { endedRate } from './ended-rate.ts';
import type { Observe } from './events.ts';
import { Handling } from './handling.ts';
import type { Hold } from './hold.ts';
import type { Holds } from './holds.ts';
import { type End, mostBatch, type Pace, StopError, type Work } from './work.ts';

export interface SlotsOptions<M extends Machine> {
  readonly database: Database;
  readonly work: Work<M>;
  readonly holds: Holds<M>;
  readonly owner: string;
  readonly pace: Pace;
  readonly log: Logger;
  readonly observe: Observe;
}

export interface Claimed {
  /** As many came as were asked for: there may be more. */
  readonly more: boolean;
  /** Milliseconds for which nothing is to be claimed. */
  readonly pausedMs: number;
}

export interface Slots {
  /** Claims as much as there is room for. @throws when the database does not answer. */
  claim(): Promise<Claimed>;
  hasRoom(): boolean;
  /** Calls when there is room to claim, until the returned function is called. */
  onRoom(tell: () => void): () => void;
  /** Begins nothing more, and gives back what was not begun. */
  drain(): void;
  /** Aborts what runs. */
  hurry(): void;
  /** Lets go of what did not end after its abort. */
  abandon(): void;
  /** Resolves when nothing is claimed, waits or runs. */
  emptied(): Promise<void>;
}

export function openSlots<M extends Machine>(options: SlotsOptions<M>): Slots {
  const { database, work, holds, owner, log, observe } = options;
  const { leaseMs, timeoutMs, concurrency, batch } = options.pace;
  const machine = work.machine.id;
  const by = work.name;
  const mostHeld = concurrency + 2 * batch;
  const rate = endedRate();
  const buffer: { readonly hold: Hold<M>; readonly run: Run<M> }[] = [];
  const running = new Set<Hold<M>>();
  const waiting = new Set<() => void>();
  const roomListeners = new Set<() => void>();
  let claims = 0;
  let draining = false;
  let hurrying = false;
  let looking = false;

  const ahead = () => Math.min(batch, rate.recent());
  const wanted = () =>
    Math.min(
      concurrency - running.size + ahead() - buffer.length,
      mostHeld - holds.size,
      mostBatch,
    );
  const hasRoom = () => buffer.length <= ahead() / 2 && wanted() > 0;

  /** Looks once for all that ends in this turn of the event loop: room comes in larger pieces. */
  function lookForRoom(): void {
    if (looking || roomListeners.size === 0) return;
    looking = true;
    setImmediate(() => {
      looking = false;
      if (hasRoom()) for (const tell of roomListeners) tell();
    });
  }

  function lookForEnd(): void {
    if (claims + buffer.length + running.size > 0) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function giveBack(hold: Hold<M>): void {
    if (work.release) holds.end(hold, work.release);
    else holds.drop(hold);
  }

  function endOfThrow(error: unknown): End<M> | undefined {
    try {
      return work.onThrow(error);
    } catch (bug) {
      log.error({ err: bug, cause: error }, 'what a throw means cannot be said, the run lapses');
      return undefined;
    }
  }

  function onLate(hold: Hold<M>): void {
    hold.overdue = true;
    log.warn({ run: hold.id, timeoutMs }, 'a run took longer than its time limit');
  }
  const handlingOptions = { leaseMs, timeoutMs, onLate };

  async function handle(hold: Hold<M>, run: Run<M>): Promise<void> {
    const handling = new Handling<M>(hold, handlingOptions);
    hold.handling = handling;
    const begun = performance.now();
    let end: End<M> | undefined;
    try {
      end = await work.handle(run, handling);
    } catch (error) {
      end = endOfThrow(error);
    }
    handling.end();
    observe({ type: 'handled', machine, by, run: hold.id, ms: performance.now() - begun });
    // The hold lives until its end is written; this is garbage now.
    hold.handling = undefined;
    if (!running.delete(hold)) return;
    rate.add();
    if (end) holds.end(hold, end);
    else holds.drop(hold);
    fill();
  }

  function begin(hold: Hold<M>, run: Run<M>): void {
    running.add(hold);
    observe({ type: 'started', machine, by, run: hold.id });
    void handle(hold, run);
  }

  function fill(): void {
    while (running.size < concurrency) {
      const next = buffer.shift();
      if (!next) break;
      const { hold, run } = next;
      if (hold.state !== 'held') continue;
      if (hold.expiresAt - performance.now() < timeoutMs) giveBack(hold);
      else begin(hold, run);
    }
    lookForRoom();
    lookForEnd();
  }

  /** Takes what was claimed; gives it back at once if draining began meanwhile. */
  function take(runs: readonly Run<M>[], since: number): void {
    for (const run of runs) buffer.push({ hold: holds.take(run, since, work), run });
    observe({ type: 'claimed', machine, by, count: runs.length });
    if (draining) giveBackBuffer();
  }

  function giveBackBuffer(): void {
    for (const { hold } of buffer.splice(0)) if (hold.state === 'held') giveBack(hold);
  }

  async function claimSome(): Promise<Claimed> {
    const pausedMs = (await work.notBefore?.()) ?? 0;
    const limit = wanted();
    if (draining || pausedMs > 0 || limit <= 0) return { more: limit <= 0, pausedMs };
    const { where, claim: event } = work;
    const fields = work.claimFields({ owner, leaseMs });
    const asked = { ...fields, limit, ...(where && { where }) };
    const since = performance.now();
    const runs = await transaction(
      database,
      (tx) =>
        claim<M, EventsBy<M, 'claim'>>(
          tx,
          work.machine,
          event,
          asked as ClaimOptions<M, EventsBy<M, 'claim'>>,
        ),
      { single: true },
    );
    take(runs, since);
    return { more: runs.length === limit, pausedMs };
  }

  function hurry(): void {
    if (hurrying) return;
    hurrying = true;
    const reason = new StopError('the process must stop at once');
    for (const { handling } of running) handling?.abort(reason);
  }

  const stopWritten = holds.onWritten(lookForRoom);

  return {
    async claim() {
      claims += 1;
      try {
        return await claimSome();
      } finally {
        claims -= 1;
        fill();
      }
    },
    hasRoom,
    onRoom(tell) {
      roomListeners.add(tell);
      lookForRoom();
      return () => roomListeners.delete(tell);
    },
    drain() {
      if (!draining) observe({ type: 'draining', machine, by });
      draining = true;
      giveBackBuffer();
      if (work.letsGo) hurry();
      lookForEnd();
    },
    hurry,
    abandon() {
      if (running.size === 0) return;
      log.error({ count: running.size }, 'runs did not end after their abort, they lapse');
      for (const hold of running) holds.drop(hold);
      running.clear();
      lookForEnd();
    },
    async emptied() {
      if (claims + buffer.length + running.size === 0) return stopWritten();
      await new Promise<void>((resolve) => waiting.add(resolve));
      stopWritten();
    },
  };
}
