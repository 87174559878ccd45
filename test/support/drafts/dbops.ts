// A draft of the machine of external operations, for the generated suites only: it proves that the
// vocabulary and the suites fit a machine that polls what it started and never starts it twice. Its
// table is made by `draft-table.ts`.

import { statusMachine } from '../../../machines/status-machine.ts';
import {
  after,
  and,
  backoff,
  clock,
  coalesce,
  col,
  eq,
  field,
  greatest,
  increment,
  isNull,
  lit,
  lte,
  not,
  or,
  set,
  when,
} from '../../../machines/vocabulary.ts';

const baseMs = 1000;
const capMs = 60_000;

const lease = { lease_expires_at: after(clock, field('lease_ms')) };
const claimed = {
  ...lease,
  fence: increment(col('fence')),
  lease_owner: field('owner'),
};
const nothingIssued = { already_issued: isNull(col('issued_at')) };
const noOperations = { has_operations: isNull(col('operations')) };
const operations = { no_operations: not(isNull(col('operations'))) };
const tooLate = { before_deadline: lte(col('deadline_at'), clock) };

export const dbops = statusMachine({
  id: 'dbops',
  description: 'The reset of a database branch by an external system.',
  table: 'operation',
  columns: {
    target: 'text',
    principal: 'text',
    idempotency_key: 'text',
    fingerprint: 'text',
    request: 'json',
    fence: 'int',
    lease_expires_at: 'instant?',
    lease_owner: 'text?',
    deadline_at: 'instant?',
    next_poll_at: 'instant?',
    issued_at: 'instant?',
    issue_mark: 'text?',
    refusals: 'int',
    operations: 'json?',
    outcome: 'text?',
    error: 'text?',
    finished_at: 'instant?',
  },
  frozen: ['target', 'principal', 'idempotency_key', 'fingerprint', 'request'],
  fence: 'fence',
  lease: 'lease_expires_at',
  owner: 'lease_owner',
  events: {
    claim: { by: 'claim', fields: { owner: 'text', lease_ms: 'int', deadline_ms: 'int' } },
    takeover: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    intend: { by: 'owner', fields: { issue_mark: 'text?' } },
    'issue.refused': { by: 'owner', fields: { lease_ms: 'int', retry_after_ms: 'int?' } },
    issued: { by: 'owner', fields: { operations: 'json', lease_ms: 'int' } },
    polled: { by: 'owner', fields: { operations: 'json', lease_ms: 'int', poll_ms: 'int' } },
    succeed: { by: 'owner' },
    fail: { by: 'owner', fields: { outcome: 'text', error: 'text?' } },
    deadline: { by: 'sweep' },
    cancel: { by: 'operator' },
  },
  initial: 'queued',
  states: {
    queued: {
      on: {
        claim: {
          target: 'running',
          actions: set({ ...claimed, deadline_at: after(clock, field('deadline_ms')) }),
        },
        cancel: { target: 'canceled', actions: set({ finished_at: clock }) },
      },
    },
    running: {
      tags: ['leased'],
      on: {
        takeover: {
          guard: when({ not_lapsed: lte(col('lease_expires_at'), clock) }),
          target: 'running',
          actions: set(claimed),
        },
        intend: {
          guard: when(nothingIssued),
          target: 'running',
          actions: set({ issued_at: clock, issue_mark: field('issue_mark') }),
        },
        'issue.refused': {
          guard: when({ not_issued: not(isNull(col('issued_at'))), ...noOperations }),
          target: 'running',
          actions: set({
            ...lease,
            issued_at: lit(null),
            refusals: increment(col('refusals')),
            next_poll_at: after(
              clock,
              greatest(
                backoff(col('refusals'), baseMs, capMs),
                coalesce(field('retry_after_ms'), lit(0)),
              ),
            ),
          }),
        },
        issued: {
          guard: when(noOperations),
          target: 'running',
          actions: set({ ...lease, operations: field('operations') }),
        },
        polled: {
          guard: when(operations),
          target: 'running',
          actions: set({
            ...lease,
            operations: field('operations'),
            next_poll_at: after(clock, field('poll_ms')),
          }),
        },
        succeed: {
          guard: when(operations),
          target: 'succeeded',
          actions: set({ outcome: lit('ok'), finished_at: clock }),
        },
        fail: {
          guard: when({
            no_such_outcome: or(
              and(eq(field('outcome'), lit('not_issued')), isNull(col('issued_at'))),
              eq(field('outcome'), lit('failed')),
              eq(field('outcome'), lit('unknown')),
            ),
          }),
          target: 'failed',
          actions: set({ outcome: field('outcome'), error: field('error'), finished_at: clock }),
        },
        deadline: [
          {
            guard: when({ ...tooLate, ...nothingIssued }),
            target: 'failed',
            actions: set({ outcome: lit('not_issued'), finished_at: clock }),
          },
          {
            guard: when(tooLate),
            target: 'failed',
            actions: set({ outcome: lit('unknown'), finished_at: clock }),
          },
        ],
        cancel: {
          guard: when(nothingIssued),
          target: 'canceled',
          actions: set({ finished_at: clock }),
        },
      },
    },
    succeeded: { type: 'final' },
    failed: { type: 'final' },
    canceled: { type: 'final' },
  },
});
