// A worker's lifecycle: when it claims, when it waits and for what, and how it stops. The slots do
// the work; they are plain code, because a run being handled is no actor.
//
// - It claims nothing once draining began. A claim that is under way then is waited for, and what
//   it brings is given back.
// - A lost database is a state, not an error: it backs off, with a cap and with jitter, and resumes
//   by itself. Only a call that can never be right fails the worker; the supervisor starts it
//   again.

import type { Logger } from 'pino';
import { assign, fromCallback, fromPromise, setup } from 'xstate';
import { CallError } from '../../persistence/door.ts';
import { backoffMs } from '../backoff.ts';
import type { Observe } from './events.ts';
import type { Claimed, Slots } from './slots.ts';

export interface WorkerInput {
  readonly machine: string;
  readonly name: string;
  readonly slots: Slots;
  readonly pollMs: number;
  /** How long handlers may take to end after their abort. */
  readonly lastMs: number;
  /** Calls at each wake-up, until the returned function is called. */
  readonly onWake: (tell: () => void) => () => void;
  readonly log: Logger;
  readonly observe: Observe;
  /** It is to drain at once, with so much grace: it had failed when draining began. */
  readonly drainMs?: number | undefined;
}

interface WorkerContext extends WorkerInput {
  readonly failures: number;
  /** How long it rests in the state that it is in. */
  readonly restMs: number;
  /** Somebody woke it while it was claiming: it must look again. */
  readonly woken: boolean;
}

export type WorkerEvent =
  | { readonly type: 'wake' }
  | { readonly type: 'room' }
  | { readonly type: 'drain'; readonly graceMs: number }
  | { readonly type: 'hurry' };

interface Failure {
  readonly error: unknown;
}

const longestTimerMs = 2 ** 31 - 1;
const longestBackoffMs = 10_000;

export const workerMachine = setup({
  types: {
    context: {} as WorkerContext,
    input: {} as WorkerInput,
    events: {} as WorkerEvent,
  },
  actors: {
    claim: fromPromise<Claimed, Slots>(({ input: slots }) => slots.claim()),
    empty: fromPromise<void, Slots>(({ input: slots }) => slots.emptied()),
    wakes: fromCallback<WorkerEvent, Pick<WorkerInput, 'onWake'>>(({ input, sendBack }) =>
      input.onWake(() => sendBack({ type: 'wake' })),
    ),
    room: fromCallback<WorkerEvent, Slots>(({ input: slots, sendBack }) =>
      slots.onRoom(() => sendBack({ type: 'room' })),
    ),
  },
  delays: {
    rest: ({ context }) => Math.min(Math.max(0, context.restMs), longestTimerMs),
    last: ({ context }) => Math.min(context.lastMs, longestTimerMs),
  },
  guards: {
    drainsAtOnce: ({ context }) => context.drainMs !== undefined,
    isPaused: (_, { pausedMs }: Claimed) => pausedMs > 0,
    isFull: ({ context }, { more }: Claimed) => more && !context.slots.hasRoom(),
    hasMore: ({ context }, { more }: Claimed) => more || context.woken,
    mayPass: (_, { error }: Failure) => !(error instanceof CallError),
  },
  actions: {
    noteWake: assign({ woken: true }),
    forgetWake: assign({ woken: false }),
    restForPoll: assign({ restMs: ({ context }) => context.pollMs }),
    restForPause: assign({
      // Somebody may lift it before its time.
      restMs: ({ context }, { pausedMs }: Claimed) => Math.min(pausedMs, context.pollMs),
    }),
    restForGrace: assign({ restMs: (_, graceMs: number) => graceMs }),
    restAfterFailure: assign({
      failures: ({ context }) => context.failures + 1,
      restMs: ({ context }) => Math.round(backoffMs(context.failures + 1, longestBackoffMs)),
    }),
    tellAway: ({ context }, { error }: Failure) => {
      const { machine, name, failures, restMs, log, observe } = context;
      log.error({ err: error, tryAgainMs: restMs }, 'a claim failed, trying again');
      observe({ type: 'away', machine, by: name, failures });
    },
    tellResumed: ({ context }) => {
      const { machine, name, failures, log, observe } = context;
      if (failures === 0) return;
      log.info({ failures }, 'claims again');
      observe({ type: 'resumed', machine, by: name });
    },
    forgetFailures: assign({ failures: 0 }),
    tellWaiting: ({ context: { machine, name, observe } }) =>
      observe({ type: 'waiting', machine, by: name }),
    tellPaused: ({ context: { machine, name, observe } }, { pausedMs: ms }: Claimed) =>
      observe({ type: 'paused', machine, by: name, ms }),
    tellStopped: ({ context: { machine, name, observe } }) =>
      observe({ type: 'stopped', machine, by: name }),
    drain: ({ context }) => context.slots.drain(),
    hurry: ({ context }) => context.slots.hurry(),
    abandon: ({ context }) => context.slots.abandon(),
  },
}).createMachine({
  id: 'worker',
  context: ({ input }) => ({
    ...input,
    failures: 0,
    restMs: input.drainMs ?? 0,
    woken: false,
  }),
  initial: 'starting',
  states: {
    starting: {
      always: [{ guard: 'drainsAtOnce', target: 'draining' }, { target: 'working' }],
    },
    working: {
      description: 'Claims, and has runs handled.',
      initial: 'claiming',
      invoke: { src: 'wakes', input: ({ context }) => context },
      on: {
        drain: {
          target: 'draining',
          actions: { type: 'restForGrace', params: ({ event }) => event.graceMs },
        },
        hurry: 'hurrying',
      },
      states: {
        claiming: {
          description: 'Asks the database for runs that are due.',
          entry: 'forgetWake',
          invoke: {
            src: 'claim',
            input: ({ context }) => context.slots,
            onDone: [
              {
                guard: { type: 'isPaused', params: ({ event }) => event.output },
                target: 'paused',
                actions: [
                  'tellResumed',
                  'forgetFailures',
                  { type: 'restForPause', params: ({ event }) => event.output },
                  { type: 'tellPaused', params: ({ event }) => event.output },
                ],
              },
              {
                guard: { type: 'isFull', params: ({ event }) => event.output },
                target: 'full',
                actions: ['tellResumed', 'forgetFailures'],
              },
              {
                guard: { type: 'hasMore', params: ({ event }) => event.output },
                target: 'claiming',
                reenter: true,
                actions: ['tellResumed', 'forgetFailures'],
              },
              { target: 'waiting', actions: ['tellResumed', 'forgetFailures'] },
            ],
            onError: {
              guard: { type: 'mayPass', params: ({ event }) => event },
              target: 'away',
              actions: ['restAfterFailure', { type: 'tellAway', params: ({ event }) => event }],
            },
          },
          on: { wake: { actions: 'noteWake' } },
        },
        waiting: {
          description: 'Nothing is due. A wake-up or the poll ends it.',
          entry: ['restForPoll', 'tellWaiting'],
          on: { wake: 'claiming' },
          after: { rest: 'claiming' },
        },
        full: {
          description: 'Has as much as it can begin soon.',
          invoke: { src: 'room', input: ({ context }) => context.slots },
          on: { room: 'claiming' },
        },
        paused: {
          description: 'Nothing is to be claimed for a while: a cool-down, for example.',
          after: { rest: 'claiming' },
        },
        away: {
          description: 'The database does not answer.',
          after: { rest: 'claiming' },
        },
      },
    },
    draining: {
      description: 'Claims nothing more. What runs may end within the grace.',
      entry: 'drain',
      invoke: { src: 'empty', input: ({ context }) => context.slots, onDone: 'stopped' },
      on: { hurry: 'hurrying' },
      after: { rest: 'hurrying' },
    },
    hurrying: {
      description: 'What runs is aborted.',
      entry: ['drain', 'hurry'],
      invoke: { src: 'empty', input: ({ context }) => context.slots, onDone: 'stopped' },
      after: { last: { actions: 'abandon' } },
    },
    stopped: { type: 'final', entry: 'tellStopped' },
  },
});
