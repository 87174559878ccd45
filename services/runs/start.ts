// Starts what runs one machine in this process: its workers, its reaper, and the lane that writes
// their ends. server.ts calls it for each machine; any number of processes may do so.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { createActor, toPromise } from 'xstate';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import type { WakeListener } from '../../persistence/wake-listener.ts';
import type { Observe } from './events.ts';
import { openHolds } from './holds.ts';
import { openSlots } from './slots.ts';
import { supervisorMachine } from './supervisor.ts';
import { checkPace, checkRenewal, type Pace, type Work } from './work.ts';

export interface RunsOptions<M extends Machine> {
  readonly database: Database;
  readonly machine: M;
  readonly wakes: Pick<WakeListener, 'onWake'>;
  /** Their names differ. None: this process only reaps. */
  readonly works: readonly Work<M>[];
  /** Of each worker. */
  readonly pace: Pace;
  readonly reapMs: number;
  /** Runs that the reaper moves in one transaction, at most. */
  readonly reapBatch?: number;
  /** How long handlers may take to end after their abort, before they are let go of. */
  readonly lastMs?: number;
  readonly log: Logger;
  readonly observe?: Observe;
}

export interface Runs {
  /**
   * Claims nothing more, and resolves when all ends are written, or were given up after the grace.
   * What was claimed and not begun is given back at once. Of several calls the shortest grace
   * counts.
   */
  stop(graceMs: number): Promise<void>;
  /** Ends the grace of a stop, whether it has begun or not. */
  hurry(): void;
}

/**
 * Starts workers and reaper of a machine.
 * @throws PaceError for times that do not go together; nothing was started then.
 */
export function startRuns<M extends Machine>(options: RunsOptions<M>): Runs {
  const { database, machine, wakes, works, pace, reapMs } = options;
  const { reapBatch = 1000, lastMs = 5000 } = options;
  const observe = options.observe ?? (() => undefined);
  const log = options.log.child({ machine: machine.id });
  checkPace(pace);
  for (const work of works) checkRenewal(work);
  // A name that is new at each start: identity is never taken for a sign of life.
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const { leaseMs, heartbeatMs, pollMs } = pace;
  const holds = openHolds<M>({ database, machine, leaseMs, heartbeatMs, log, observe });
  const workers = works.map((work) => {
    const mine = log.child({ worker: work.name });
    return {
      machine: machine.id,
      name: work.name,
      slots: openSlots<M>({ database, work, holds, owner, pace, log: mine, observe }),
      pollMs,
      lastMs,
      onWake: (tell: () => void) => wakes.onWake(machine.id, tell),
      log: mine,
      observe,
    };
  });
  const reaper = { database, machine, batch: reapBatch, reapMs, log, observe };
  const supervisor = createActor(supervisorMachine, {
    input: { machine: machine.id, workers, reaper, log, observe },
  });
  const stopped = toPromise(supervisor);
  // It is awaited by `stop`; until then a mistake in the supervisor must not end the process.
  stopped.catch((error: unknown) => log.fatal({ err: error }, 'the supervisor failed'));
  supervisor.start();
  let hurried = false;

  function send(event: { readonly type: 'drain'; readonly graceMs: number } | { type: 'hurry' }) {
    if (supervisor.getSnapshot().status === 'active') supervisor.send(event);
  }
  function hurry(): void {
    hurried = true;
    send({ type: 'hurry' });
    holds.giveUp();
  }
  async function end(graceMs: number): Promise<void> {
    send({ type: 'drain', graceMs });
    if (hurried) send({ type: 'hurry' });
    await stopped;
    await holds.close();
  }
  let ending: Promise<void> | undefined;
  return {
    hurry,
    async stop(graceMs) {
      const grace = setTimeout(hurry, Math.min(graceMs, 2 ** 31 - 1));
      ending ??= end(graceMs);
      await ending;
      clearTimeout(grace);
    },
  };
}
