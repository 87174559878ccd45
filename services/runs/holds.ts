// The runs of one machine that this process has claimed and not ended: keeps their leases, and has
// their ends written. Workers take a hold for each claimed run and end each once.
//
// - Leases are renewed until the last handler has ended, also of runs that wait to be begun, and
//   while the process drains. A run past its time limit is not renewed any more: its handler may
//   hang. Nor is one whose end waits to be written.
// - Renewals go through the lane that writes ends. A renewal beside the end of the same run would
//   come too late by a hair and be counted as a lost write.
// - The end of a run that was lost is sent all the same: the database refuses it, and keeps a
//   record of an effect that may have happened twice.

import type { Logger } from 'pino';
import type { Machine, Run } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { endLane } from './end-lane.ts';
import { endWriter } from './ends.ts';
import type { Observe } from './events.ts';
import type { Hold } from './hold.ts';
import { renewLeases } from './renewals.ts';
import type { AnyEnd, End, Work } from './work.ts';

export interface HoldsOptions<M extends Machine> {
  readonly database: Database;
  readonly machine: M;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly log: Logger;
  readonly observe: Observe;
}

export interface Holds<M extends Machine> {
  /** Runs that are held, those included whose end is not written yet. */
  readonly size: number;
  /** Takes a claimed run. `since`: the monotonic clock before the claim was sent. */
  take(run: Run<M>, since: number, work: Work<M>): Hold<M>;
  /** Hands over how the run ended. The first end counts. */
  end(hold: Hold<M>, end: End<M>): void;
  /** Lets go of a run without a word: its lease lapses. */
  drop(hold: Hold<M>): void;
  /** Calls after each write, until the returned function is called. */
  onWritten(tell: () => void): () => void;
  /** Ends that the database does not take at the next attempt are given up. */
  giveUp(): void;
  /** Resolves when all ends are written or given up, and nothing is renewed any more. */
  close(): Promise<void>;
}

const longestTimerMs = 2 ** 31 - 1;

export function openHolds<M extends Machine>(options: HoldsOptions<M>): Holds<M> {
  const { database, machine, leaseMs, heartbeatMs, log, observe } = options;
  const held = new Map<string, Hold<M>>();
  const listeners = new Set<() => void>();
  const writer = endWriter<M>({ database, machine, log, observe });
  const renew = renewLeases<M>({ machine, writer, leaseMs, log, observe, lose });
  const lane = endLane<M>({
    machine: machine.id,
    writer,
    log,
    observe,
    longestWaitMs: leaseMs / 3,
    renew: () => renew(held.values()),
    onOver: (hold) => {
      if (held.get(hold.id) === hold) held.delete(hold.id);
    },
    onWritten: () => {
      for (const tell of listeners) tell();
    },
  });

  function leave(hold: Hold<M>, state: 'lost' | 'dropped'): void {
    hold.state = state;
    if (held.get(hold.id) === hold) held.delete(hold.id);
  }

  function lose(hold: Hold<M>, why: string): void {
    leave(hold, 'lost');
    const { id: run, work } = hold;
    observe({ type: 'lost', machine: machine.id, by: work.name, run, event: 'renewal' });
    hold.handling?.abort(new Error(`the lease is lost: ${why}`));
  }

  const beat = () => {
    if (held.size > 0) lane.renewSoon();
  };
  const beating = setInterval(beat, Math.min(heartbeatMs, longestTimerMs));

  return {
    get size() {
      return held.size;
    },
    take(run, since, work) {
      const before = held.get(run.id);
      if (before?.state === 'held') lose(before, 'it lapsed and was claimed again, here');
      const hold: Hold<M> = {
        id: run.id,
        fence: Number((run as Readonly<Record<string, unknown>>)[machine.fence]),
        work,
        state: 'held',
        expiresAt: since + leaseMs,
        overdue: false,
        handling: undefined,
        end: undefined,
        replaced: 0,
        again: false,
      };
      held.set(run.id, hold);
      return hold;
    },
    end(hold, end) {
      if (hold.state === 'ended' || hold.state === 'dropped') return;
      hold.state = 'ended';
      hold.end = end as AnyEnd;
      lane.write(hold);
    },
    drop(hold) {
      leave(hold, 'dropped');
      observe({ type: 'dropped', machine: machine.id, by: hold.work.name, run: hold.id });
    },
    onWritten(tell) {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    giveUp: lane.giveUp,
    async close() {
      await lane.settled();
      clearInterval(beating);
      await lane.settled();
    },
  };
}
