// The supervisor of a machine's workers and reaper: starts them, starts again what failed, and
// stops them in order: workers first, so that the reaper and the renewals are there while runs end.
//
// - What failed by a mistake of ours is started again after a while that grows, and never ends the
//   process. A lost database is nobody's failure: workers and reaper wait for it by themselves.

import type { Logger } from 'pino';
import { assign, createActor, fromCallback, raise, type Subscribable, sendTo, setup } from 'xstate';
import { backoffMs } from '../backoff.ts';
import type { Observe } from './events.ts';
import { type ReaperInput, reaperMachine } from './reaper.ts';
import { type WorkerInput, workerMachine } from './worker.ts';

export interface SupervisorInput {
  readonly machine: string;
  /** Their names differ. */
  readonly workers: readonly WorkerInput[];
  readonly reaper: ReaperInput;
  readonly log: Logger;
  readonly observe: Observe;
}

interface SupervisorContext extends SupervisorInput {
  /** Workers that have not stopped. */
  readonly working: readonly string[];
  readonly failures: Readonly<Record<string, number>>;
  readonly graceMs: number;
}

type Order =
  | { readonly type: 'start'; readonly name: string }
  | { readonly type: 'drain'; readonly graceMs: number }
  | { readonly type: 'hurry' }
  | { readonly type: 'retire' };

type SupervisorEvent =
  | { readonly type: 'drain'; readonly graceMs: number }
  | { readonly type: 'hurry' }
  | { readonly type: 'failed'; readonly name: string; readonly error: unknown }
  | { readonly type: 'ended'; readonly name: string }
  | { readonly type: 'restart'; readonly name: string };

const longestBackoffMs = 30_000;
const reaperName = 'reaper';

interface Kept extends Subscribable<unknown> {
  start(): unknown;
  stop(): unknown;
}

/** Those that are kept going, and the news of them. */
const crew = fromCallback<Order, SupervisorInput>(({ input, receive, sendBack }) => {
  const all = new Set<Kept>();
  const workers = new Map<string, ReturnType<typeof startWorker>>();
  let reaper: ReturnType<typeof startReaper> | undefined;

  function follow(name: string, actor: Kept, forget: () => void): void {
    all.add(actor);
    const over = (): void => {
      all.delete(actor);
      forget();
    };
    actor.subscribe({
      complete: () => {
        over();
        sendBack({ type: 'ended', name });
      },
      error: (error: unknown) => {
        over();
        sendBack({ type: 'failed', name, error });
      },
    });
    actor.start();
  }
  function startWorker(worker: WorkerInput) {
    const actor = createActor(workerMachine, { input: worker });
    workers.set(worker.name, actor);
    follow(worker.name, actor, () => workers.delete(worker.name));
    return actor;
  }
  function startReaper() {
    const actor = createActor(reaperMachine, { input: input.reaper });
    reaper = actor;
    follow(reaperName, actor, () => {
      reaper = undefined;
    });
    return actor;
  }
  function drain(graceMs: number): void {
    for (const worker of input.workers) {
      const actor = workers.get(worker.name);
      if (actor) actor.send({ type: 'drain', graceMs });
      else startWorker({ ...worker, drainMs: graceMs });
    }
  }

  receive((order) => {
    const named = input.workers.filter(({ name }) => 'name' in order && name === order.name);
    if (order.type === 'start' && order.name === reaperName) startReaper();
    if (order.type === 'start') named.map(startWorker);
    if (order.type === 'drain') drain(order.graceMs);
    if (order.type === 'hurry') for (const actor of workers.values()) actor.send(order);
    if (order.type === 'retire' && reaper) reaper.send({ type: 'stop' });
    else if (order.type === 'retire') sendBack({ type: 'ended', name: reaperName });
  });
  startReaper();
  input.workers.map(startWorker);
  return () => {
    for (const actor of all) actor.stop();
  };
});

const nameOf = (event: SupervisorEvent): string => ('name' in event ? event.name : '');

export const supervisorMachine = setup({
  types: {
    context: {} as SupervisorContext,
    input: {} as SupervisorInput,
    events: {} as SupervisorEvent,
  },
  actors: { crew },
  guards: {
    noneWorks: ({ context }) => context.working.length === 0,
    isReaper: ({ event }) => nameOf(event) === reaperName,
  },
  delays: {
    backoff: ({ context, event }) =>
      backoffMs(context.failures[nameOf(event)] ?? 0, longestBackoffMs),
  },
  actions: {
    countFailure: assign({
      failures: ({ context: { failures }, event }) => ({
        ...failures,
        [nameOf(event)]: (failures[nameOf(event)] ?? 0) + 1,
      }),
    }),
    tellFailed: (
      { context: { machine, log, observe } },
      failed: { name: string; error: unknown },
    ) => {
      log.error({ err: failed.error, part: failed.name }, 'a part failed, it is started again');
      observe({ type: 'failed', machine, by: failed.name });
    },
    restartLater: raise(({ event }) => ({ type: 'restart' as const, name: nameOf(event) }), {
      delay: 'backoff',
      id: 'restart',
    }),
    restart: sendTo('crew', ({ event }) => ({ type: 'start', name: nameOf(event) })),
    noteGrace: assign({ graceMs: (_, graceMs: number) => graceMs }),
    drain: sendTo('crew', ({ context }) => ({ type: 'drain', graceMs: context.graceMs })),
    hurry: sendTo('crew', { type: 'hurry' }),
    retire: sendTo('crew', { type: 'retire' }),
    noteEnd: assign({
      working: ({ context, event }) => context.working.filter((name) => name !== nameOf(event)),
    }),
  },
}).createMachine({
  id: 'supervisor',
  context: ({ input }) => ({
    ...input,
    working: input.workers.map(({ name }) => name),
    failures: {},
    graceMs: 0,
  }),
  invoke: { id: 'crew', src: 'crew', input: ({ context }) => context },
  initial: 'running',
  states: {
    running: {
      description: 'Workers and reaper run; what failed is started again.',
      on: {
        failed: {
          actions: [
            'countFailure',
            { type: 'tellFailed', params: ({ event }) => event },
            'restartLater',
          ],
        },
        restart: { actions: 'restart' },
        drain: {
          target: 'draining',
          actions: { type: 'noteGrace', params: ({ event }) => event.graceMs },
        },
      },
    },
    draining: {
      description: 'Workers end; the reaper still runs.',
      entry: 'drain',
      on: {
        hurry: { actions: 'hurry' },
        failed: { actions: [{ type: 'tellFailed', params: ({ event }) => event }, 'noteEnd'] },
        ended: { actions: 'noteEnd' },
      },
      always: { guard: 'noneWorks', target: 'retiring' },
    },
    retiring: {
      description: 'The reaper ends.',
      entry: 'retire',
      on: {
        ended: { guard: 'isReaper', target: 'stopped' },
        failed: { guard: 'isReaper', target: 'stopped' },
      },
    },
    stopped: { type: 'final' },
  },
});
