// The reaper of a machine: sends its sweep events to the runs whose time has come, such as those
// whose owner is gone. Every process has one; runs that another one holds are skipped.
//
// - A batch is bounded. While batches are full it goes on at once.
// - Each batch is one transaction, and one line of the log: a line a run is no help when thousands
//   lapsed. The journal has each.
// - An event that fails does not keep the others from being sent.

import type { Logger } from 'pino';
import { assign, fromPromise, setup } from 'xstate';
import { arrowsBy } from '../../machines/arrows.ts';
import type { EventsBy, Machine } from '../../machines/status-machine.ts';
import { sweep } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';
import { backoffMs } from '../backoff.ts';
import type { Observe } from './events.ts';

export interface ReaperOptions {
  readonly database: Database;
  readonly machine: Machine;
  /** Runs in one transaction, at most. */
  readonly batch: number;
  readonly log: Logger;
  readonly observe: Observe;
}

const never = new AbortController().signal;

function countedBy<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}

async function sweepEvent(options: ReaperOptions, event: string, signal: AbortSignal) {
  const { database, machine, batch, log, observe } = options;
  for (let swept = 0; !signal.aborted; ) {
    const moved = await transaction(
      database,
      (tx) => sweep(tx, machine, event as EventsBy<Machine, 'sweep'>, { limit: batch }),
      { single: true },
    );
    swept += moved.length;
    if (moved.length > 0) {
      const to = countedBy(moved, ({ after }) => String(after.status));
      const owners = countedBy(moved, ({ before }) =>
        String((before as Readonly<Record<string, unknown>>)[machine.owner]),
      );
      log.warn({ event, count: moved.length, to, owners }, 'the time of runs had come');
      observe({ type: 'lapsed', machine: machine.id, by: 'reaper', event, count: moved.length });
    }
    if (moved.length < batch) return swept;
  }
  return 0;
}

/**
 * Sends every sweep event of the machine until nothing is left to be swept.
 * @returns how many runs moved.
 * @throws AggregateError of what failed, after every event was tried.
 */
export async function sweepAll(options: ReaperOptions, signal = never): Promise<number> {
  const { machine } = options;
  const events = Object.entries(machine.events).filter(
    ([event, { by }]) => by === 'sweep' && arrowsBy(machine, event).length > 0,
  );
  const errors: unknown[] = [];
  let swept = 0;
  for (const [event] of events) {
    try {
      swept += await sweepEvent(options, event, signal);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `machine ${machine.id}: sweeps failed`);
  return swept;
}

export interface ReaperInput extends ReaperOptions {
  readonly reapMs: number;
}

interface ReaperContext extends ReaperInput {
  readonly failures: number;
  readonly restMs: number;
}

const longestTimerMs = 2 ** 31 - 1;
const longestBackoffMs = 30_000;

export const reaperMachine = setup({
  types: {
    context: {} as ReaperContext,
    input: {} as ReaperInput,
    events: {} as { readonly type: 'stop' },
  },
  actors: {
    sweep: fromPromise<number, ReaperOptions>(({ input, signal }) => sweepAll(input, signal)),
  },
  delays: { rest: ({ context }) => Math.min(context.restMs, longestTimerMs) },
  actions: {
    restForReap: assign({ failures: 0, restMs: ({ context }) => context.reapMs }),
    restAfterFailure: assign({
      failures: ({ context }) => context.failures + 1,
      restMs: ({ context }) => Math.round(backoffMs(context.failures + 1, longestBackoffMs)),
    }),
    tellAway: ({ context }, { error }: { readonly error: unknown }) => {
      const { machine, failures, restMs, log, observe } = context;
      log.error({ err: error, tryAgainMs: restMs }, 'the reaper failed, trying again');
      observe({ type: 'away', machine: machine.id, by: 'reaper', failures });
    },
    tellResumed: ({ context: { machine, failures, observe } }) => {
      if (failures > 0) observe({ type: 'resumed', machine: machine.id, by: 'reaper' });
    },
    tellStopped: ({ context: { machine, observe } }) =>
      observe({ type: 'stopped', machine: machine.id, by: 'reaper' }),
  },
}).createMachine({
  id: 'reaper',
  context: ({ input }) => ({ ...input, failures: 0, restMs: 0 }),
  initial: 'sweeping',
  on: { stop: '.stopped' },
  states: {
    sweeping: {
      description: 'Sweeps in batches, until a batch is not full.',
      invoke: {
        src: 'sweep',
        input: ({ context }) => context,
        onDone: { target: 'resting', actions: ['tellResumed', 'restForReap'] },
        onError: {
          target: 'away',
          actions: ['restAfterFailure', { type: 'tellAway', params: ({ event }) => event }],
        },
      },
    },
    resting: { description: 'Until the next sweep.', after: { rest: 'sweeping' } },
    away: { description: 'The database does not answer.', after: { rest: 'sweeping' } },
    stopped: { type: 'final', entry: 'tellStopped' },
  },
});
