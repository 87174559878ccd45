// Proposals: a frozen plan of steps that somebody approves and a process carries out, one
// transaction a step. services/proposals runs them.
//
// - `next_step` counts the steps that are committed; `open_step` is the one that is being carried
//   out. It is set only within that step's transaction: no commit leaves it (see 0006-proposals).
// - While a step runs its locked row is the sign of life; each step's end renews the lease.
// - There is no retry. What is left of a plan is a new plan, which somebody approves.
// - A policy or a risk of a name that nobody knows counts as the strictest.

import { statusMachine } from './status-machine.ts';
import {
  actor,
  after,
  and,
  clock,
  col,
  eq,
  field,
  increment,
  isNull,
  lit,
  lt,
  lte,
  ne,
  or,
  set,
  when,
} from './vocabulary.ts';

const notExpired = { expired: lt(clock, col('expires_at')) };
const due = { not_expired: lte(col('expires_at'), clock) };
const stepIsOpen = { step_not_open: eq(col('open_step'), field('step')) };
const oneMaySuffice = or(
  eq(col('four_eyes'), lit('never')),
  and(
    eq(col('four_eyes'), lit('high-risk')),
    or(eq(col('risk'), lit('low')), eq(col('risk'), lit('medium'))),
  ),
);
const reject = {
  target: 'rejected',
  actions: set({ rejected_by: actor, reason: field('reason'), finished_at: clock }),
} as const;
const expire = {
  guard: when(due),
  target: 'expired',
  actions: set({ finished_at: clock }),
} as const;
const afterStep = {
  next_step: increment(col('next_step')),
  open_step: lit(null),
};

export const proposal = statusMachine({
  id: 'proposal',
  description: 'A plan of steps that somebody approves and a process carries out.',
  table: 'proposal',
  columns: {
    proposer: 'text',
    risk: 'text',
    four_eyes: 'text',
    plan_hash: 'text',
    steps: 'int',
    rationale: 'text',
    link: 'text?',
    linked_to: 'uuid?',
    created_at: 'instant',
    expires_at: 'instant',
    fence: 'int',
    lease_expires_at: 'instant?',
    lease_owner: 'text?',
    next_step: 'int',
    open_step: 'int?',
    approved_by: 'text?',
    approved_at: 'instant?',
    executed_by: 'text?',
    rejected_by: 'text?',
    reason: 'text?',
    finished_at: 'instant?',
  },
  frozen: [
    'proposer',
    'risk',
    'four_eyes',
    'plan_hash',
    'steps',
    'rationale',
    'link',
    'linked_to',
    'created_at',
    'expires_at',
  ],
  fence: 'fence',
  lease: 'lease_expires_at',
  owner: 'lease_owner',
  events: {
    approve: { by: 'operator', fields: { plan_hash: 'text' } },
    reject: { by: 'operator', fields: { reason: 'text?' } },
    expire: { by: 'sweep' },
    execute: { by: 'claim', fields: { owner: 'text', lease_ms: 'int', executed_by: 'text' } },
    'step.open': { by: 'owner', fields: { step: 'int' } },
    'step.ok': { by: 'owner', fields: { step: 'int', lease_ms: 'int' } },
    'step.failed': { by: 'owner', fields: { step: 'int', reason: 'text' } },
    interrupt: { by: 'owner', fields: { reason: 'text' } },
    'lease.expired': { by: 'sweep' },
  },
  checks: {
    four_eyes: or(
      oneMaySuffice,
      isNull(col('approved_by')),
      ne(col('approved_by'), col('proposer')),
    ),
  },
  commands: {
    continue: { from: ['failed'], description: 'Proposes the steps that are left.' },
    compensate: {
      from: ['failed', 'executed'],
      description: 'Proposes the inverse of the steps that were committed, in reverse order.',
    },
  },
  initial: 'pending',
  states: {
    pending: {
      description: 'Waits for somebody to approve exactly this plan.',
      on: {
        approve: {
          description: 'By another than the proposer, where four eyes are asked for.',
          guard: when({
            ...notExpired,
            plan_hash_mismatch: eq(field('plan_hash'), col('plan_hash')),
            own_plan: or(oneMaySuffice, ne(actor, col('proposer'))),
          }),
          target: 'approved',
          actions: set({ approved_by: actor, approved_at: clock }),
        },
        reject,
        expire,
      },
    },
    approved: {
      description: 'May be executed once, before it expires.',
      on: {
        reject,
        expire,
        execute: {
          guard: when(notExpired),
          target: 'executing',
          actions: set({
            fence: increment(col('fence')),
            lease_expires_at: after(clock, field('lease_ms')),
            lease_owner: field('owner'),
            executed_by: field('executed_by'),
          }),
        },
      },
    },
    executing: {
      description: 'A process carries it out, a transaction a step.',
      tags: ['leased'],
      on: {
        'step.open': {
          guard: when({
            not_next_step: and(
              eq(field('step'), col('next_step')),
              lt(col('next_step'), col('steps')),
            ),
            another_step_open: isNull(col('open_step')),
          }),
          target: 'executing',
          actions: set({ open_step: field('step') }),
        },
        'step.ok': [
          {
            description: 'The last step is done.',
            guard: when({
              ...stepIsOpen,
              not_last_step: eq(increment(col('next_step')), col('steps')),
            }),
            target: 'executed',
            actions: set({ ...afterStep, finished_at: clock }),
          },
          {
            guard: when(stepIsOpen),
            target: 'executing',
            actions: set({ ...afterStep, lease_expires_at: after(clock, field('lease_ms')) }),
          },
        ],
        'step.failed': {
          guard: when(stepIsOpen),
          target: 'failed',
          actions: set({ open_step: lit(null), reason: field('reason'), finished_at: clock }),
        },
        interrupt: {
          target: 'failed',
          actions: set({ open_step: lit(null), reason: field('reason'), finished_at: clock }),
        },
        'lease.expired': {
          guard: when({ not_lapsed: lte(col('lease_expires_at'), clock) }),
          target: 'failed',
          actions: set({ open_step: lit(null), reason: lit('interrupted'), finished_at: clock }),
        },
      },
    },
    executed: { type: 'final', description: 'Every step is committed, with its receipt.' },
    failed: {
      type: 'final',
      description: 'Steps with a receipt are committed; the others never will be.',
    },
    rejected: { type: 'final', description: 'Somebody said no. Nothing of it was done.' },
    expired: { type: 'final', description: 'Its time passed. Nothing of it was done.' },
  },
});
