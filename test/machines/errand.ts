// A small machine that uses each part of a declaration once. The tests of machines/ start from it
// and change one thing.

import type { Machine } from '../../machines/status-machine.ts';
import { statusMachine } from '../../machines/status-machine.ts';
import {
  after,
  and,
  backoff,
  clock,
  coalesce,
  col,
  eq,
  field,
  increment,
  isNull,
  lit,
  lt,
  lte,
  ne,
  not,
  set,
  when,
} from '../../machines/vocabulary.ts';

const errandData = statusMachine({
  id: 'errand',
  description: 'Something that one helper at a time can run.',
  table: 'errand',
  columns: {
    title: 'text',
    parent: 'uuid?',
    deadline: 'instant',
    note: 'text?',
    plan: 'json?',
    urgent: 'bool',
    losses: 'int',
    tries: 'int',
    next_at: 'instant',
    until: 'instant?',
    holder: 'text?',
  },
  frozen: ['title', 'parent', 'deadline'],
  fence: 'tries',
  lease: 'until',
  owner: 'holder',
  events: {
    claim: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    finish: { by: 'owner', fields: { note: 'text?', plan: 'json?' } },
    renew: { by: 'owner', fields: { lease_ms: 'int' } },
    cancel: { by: 'operator', fields: { reason: 'text', sure: 'bool' } },
    'lease.expired': { by: 'sweep' },
  },
  checks: { untitled: not(eq(col('title'), lit(''))) },
  commands: { repeat: { from: ['done'], description: 'Makes a new errand of the same kind.' } },
  initial: 'open',
  states: {
    open: {
      on: {
        claim: {
          guard: when({ not_due: lte(col('next_at'), clock) }),
          target: 'held',
          actions: set({
            tries: increment(col('tries')),
            until: after(clock, field('lease_ms')),
            holder: field('owner'),
          }),
        },
        cancel: {
          description: 'Nobody began it.',
          guard: when({ unsure: field('sure'), no_reason: ne(field('reason'), lit('')) }),
          target: 'canceled',
          actions: set({ note: field('reason') }),
        },
      },
    },
    held: {
      tags: ['leased'],
      on: {
        finish: {
          target: 'done',
          actions: set({ note: coalesce(field('note'), col('note')), plan: field('plan') }),
        },
        renew: { target: 'held', actions: set({ until: after(clock, field('lease_ms')) }) },
        'lease.expired': [
          {
            guard: when({
              not_lapsed: lte(col('until'), clock),
              given_up: and(lt(col('losses'), lit(3)), not(isNull(col('holder')))),
            }),
            target: 'open',
            actions: set({
              losses: increment(col('losses')),
              next_at: after(clock, backoff(col('losses'), 1000, 60_000)),
            }),
          },
          { guard: when({ not_lapsed: lte(col('until'), clock) }), target: 'canceled' },
        ],
      },
    },
    done: { type: 'final' },
    canceled: { type: 'final' },
  },
});

export const errand: Machine = errandData;

type Edge = Exclude<NonNullable<Machine['states'][string]['on']>[string], undefined>;

/** The errand with the arrows of one status and event replaced, or taken away. */
export function withArrows(from: string, event: string, arrows: Edge | undefined): Machine {
  const state = errand.states[from];
  const on = { ...state?.on, [event]: arrows };
  if (arrows === undefined) delete on[event];
  return { ...errand, states: { ...errand.states, [from]: { ...state, on } } };
}

/** The first arrow of a status and event. */
export function arrowAt(from: string, event: string) {
  const [arrow] = [errand.states[from]?.on?.[event] ?? []].flat();
  if (arrow === undefined) throw new Error(`the errand has no arrow from ${from} by ${event}`);
  return arrow;
}
