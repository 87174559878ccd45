// A draft of the proposal machine, for the generated suites only: it proves that the vocabulary and
// the suites fit a machine whose work is a list of steps. Its table is made by `draft-table.ts`.

import { statusMachine } from '../../../machines/status-machine.ts';
import {
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
  not,
  or,
  set,
  when,
} from '../../../machines/vocabulary.ts';

const notExpired = { expired: lt(clock, col('expires_at')) };
const due = { not_expired: lte(col('expires_at'), clock) };
const stepIsOpen = { step_not_open: eq(col('open_step'), field('step')) };
const reject = {
  target: 'rejected',
  actions: set({ reason: field('reason'), finished_at: clock }),
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
    four_eyes: 'bool',
    plan_hash: 'text',
    steps: 'int',
    linked_to: 'uuid?',
    expires_at: 'instant',
    fence: 'int',
    lease_expires_at: 'instant?',
    lease_owner: 'text?',
    next_step: 'int',
    open_step: 'int?',
    approved_by: 'text?',
    approved_at: 'instant?',
    reason: 'text?',
    finished_at: 'instant?',
  },
  frozen: ['proposer', 'four_eyes', 'plan_hash', 'steps', 'linked_to', 'expires_at'],
  fence: 'fence',
  lease: 'lease_expires_at',
  owner: 'lease_owner',
  events: {
    approve: { by: 'operator', fields: { approver: 'text', plan_hash: 'text' } },
    reject: { by: 'operator', fields: { reason: 'text?' } },
    expire: { by: 'sweep' },
    execute: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    'step.open': { by: 'owner', fields: { step: 'int' } },
    'step.ok': { by: 'owner', fields: { step: 'int', lease_ms: 'int' } },
    'step.failed': { by: 'owner', fields: { step: 'int', reason: 'text' } },
    interrupt: { by: 'owner', fields: { reason: 'text' } },
    'lease.expired': { by: 'sweep' },
  },
  checks: {
    four_eyes: or(
      not(col('four_eyes')),
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
      on: {
        approve: {
          guard: when({
            ...notExpired,
            plan_hash_mismatch: eq(field('plan_hash'), col('plan_hash')),
            four_eyes: or(not(col('four_eyes')), ne(field('approver'), col('proposer'))),
          }),
          target: 'approved',
          actions: set({ approved_by: field('approver'), approved_at: clock }),
        },
        reject,
        expire,
      },
    },
    approved: {
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
          }),
        },
      },
    },
    executing: {
      tags: ['leased'],
      on: {
        'step.open': {
          guard: when({
            out_of_order: and(
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
              steps_left: eq(increment(col('next_step')), col('steps')),
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
    executed: { type: 'final' },
    failed: { type: 'final' },
    rejected: { type: 'final' },
    expired: { type: 'final' },
  },
});
