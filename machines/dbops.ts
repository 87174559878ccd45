// dbops: a change to a database branch that an external system carries out. Its runs are rows of
// `operation`; services/operations moves them, and nobody else does.
//
// - What may have been started outside is never started again. The intent is written before the
//   call, with the provider's newest operation as its mark; only a refusal that is certain takes it
//   back. A successor looks for what is newer than the mark, never by time.
// - `settles_at` is when a call of this intent can no longer be on its way: before it nobody may
//   say `unknown`, not the deadline either.
// - A run that somebody let go of, or lost, stays `running`, and is taken over when its lease
//   lapses.
// - `last_error` is the last trouble on the way, `error` why it did not succeed, for people.

import { statusMachine } from './status-machine.ts';
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
} from './vocabulary.ts';

const baseMs = 1000;
const capMs = 30_000;

const notTaken = 'The deadline passed before the provider took the request. Ask again.';
const stillAtIt =
  'The deadline passed before the provider said that it had ended. ' +
  'Look up there how the operations that are listed here ended, before you ask again.';
const notFound =
  'The deadline passed and no operation of this request was found. ' +
  'Look up at the provider whether the branch has an operation that is newer than the mark, ' +
  'before you ask again.';

const lease = { lease_expires_at: after(clock, field('lease_ms')) };
const claimed = {
  ...lease,
  fence: increment(col('fence')),
  lease_owner: field('owner'),
};
const nothingIssued = { already_issued: isNull(col('issued_at')) };
const issued = { not_issued: not(isNull(col('issued_at'))) };
const noOperations = { already_named: isNull(col('operations')) };
const operations = { no_operations: not(isNull(col('operations'))) };
const tooLate = { not_overdue: lte(col('deadline_at'), clock) };
const settled = { not_settled: lte(col('settles_at'), clock) };

/** The backoff, or what the provider asked for if that is longer. */
const nextPoll = (count: 'polls' | 'refusals') =>
  after(
    clock,
    greatest(backoff(col(count), baseMs, capMs), coalesce(field('retry_after_ms'), lit(0))),
  );

export const dbops = statusMachine({
  id: 'dbops',
  description: 'A change to a database branch, carried out by an external system.',
  table: 'operation',
  columns: {
    provider: 'text',
    target: 'text',
    action: 'text',
    request: 'json',
    principal: 'text',
    idempotency_key: 'text',
    fingerprint: 'text',
    created_at: 'instant',
    fence: 'int',
    lease_expires_at: 'instant?',
    lease_owner: 'text?',
    deadline_at: 'instant?',
    next_poll_at: 'instant?',
    issued_at: 'instant?',
    issue_mark: 'text?',
    settles_at: 'instant?',
    refusals: 'int',
    polls: 'int',
    operations: 'json?',
    outcome: 'text?',
    error: 'text?',
    last_error: 'text?',
    finished_at: 'instant?',
  },
  frozen: [
    'provider',
    'target',
    'action',
    'request',
    'principal',
    'idempotency_key',
    'fingerprint',
    'created_at',
  ],
  fence: 'fence',
  lease: 'lease_expires_at',
  owner: 'lease_owner',
  events: {
    claim: { by: 'claim', fields: { owner: 'text', lease_ms: 'int', deadline_ms: 'int' } },
    takeover: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    renew: { by: 'owner', fields: { lease_ms: 'int' } },
    release: { by: 'owner', fields: { wait_ms: 'int', error: 'text?' } },
    intend: { by: 'owner', fields: { issue_mark: 'text?', settle_ms: 'int', lease_ms: 'int' } },
    'issue.refused': {
      by: 'owner',
      fields: { error: 'text', retry_after_ms: 'int?', lease_ms: 'int' },
    },
    issued: { by: 'owner', fields: { operations: 'json', lease_ms: 'int' } },
    polled: {
      by: 'owner',
      fields: { operations: 'json', retry_after_ms: 'int?', lease_ms: 'int' },
    },
    troubled: {
      by: 'owner',
      fields: { error: 'text?', retry_after_ms: 'int?', lease_ms: 'int' },
    },
    succeed: { by: 'owner' },
    fail: { by: 'owner', fields: { outcome: 'text', error: 'text' } },
    deadline: { by: 'sweep' },
    cancel: { by: 'operator' },
  },
  initial: 'queued',
  states: {
    queued: {
      description: 'Waits for a worker. Nothing was asked of the provider.',
      on: {
        claim: {
          description: 'A worker takes it.',
          target: 'running',
          actions: set({ ...claimed, deadline_at: after(clock, field('deadline_ms')) }),
        },
        cancel: {
          description: 'Somebody does not want it any more.',
          target: 'canceled',
          actions: set({ finished_at: clock }),
        },
      },
    },
    running: {
      description:
        'A worker has it: issues it once, and polls what it started. It stays here when its ' +
        'worker is gone, until another one takes it over or its deadline passes.',
      tags: ['leased'],
      on: {
        takeover: {
          description: 'Its worker is gone; another one goes on where it was.',
          guard: when({ not_lapsed: lte(col('lease_expires_at'), clock) }),
          target: 'running',
          actions: set(claimed),
        },
        renew: {
          description: 'The worker is alive.',
          target: 'running',
          actions: set(lease),
        },
        release: {
          description: 'The worker lets go of it: whoever comes next takes it over.',
          target: 'running',
          actions: set({
            lease_expires_at: after(clock, field('wait_ms')),
            last_error: coalesce(field('error'), col('last_error')),
          }),
        },
        intend: {
          description: 'The call is about to be made. From here on it may have happened.',
          guard: when(nothingIssued),
          target: 'running',
          actions: set({
            ...lease,
            issued_at: clock,
            issue_mark: field('issue_mark'),
            settles_at: after(clock, field('settle_ms')),
          }),
        },
        'issue.refused': {
          description: 'The call certainly changed nothing.',
          guard: when({ ...issued, ...noOperations }),
          target: 'running',
          actions: set({
            ...lease,
            issued_at: lit(null),
            issue_mark: lit(null),
            settles_at: lit(null),
            refusals: increment(col('refusals')),
            last_error: field('error'),
            next_poll_at: nextPoll('refusals'),
          }),
        },
        issued: {
          description: 'The provider named its operations, in its answer or when it was asked.',
          guard: when({ ...issued, ...noOperations }),
          target: 'running',
          actions: set({
            ...lease,
            operations: field('operations'),
            polls: lit(0),
            next_poll_at: after(clock, backoff(lit(0), baseMs, capMs)),
          }),
        },
        polled: {
          description: 'The provider said how far it is.',
          guard: when(operations),
          target: 'running',
          actions: set({
            ...lease,
            operations: field('operations'),
            polls: increment(col('polls')),
            last_error: lit(null),
            next_poll_at: nextPoll('polls'),
          }),
        },
        troubled: {
          description: 'The provider said nothing of use. It is asked again later.',
          target: 'running',
          actions: set({
            ...lease,
            polls: increment(col('polls')),
            last_error: coalesce(field('error'), col('last_error')),
            next_poll_at: nextPoll('polls'),
          }),
        },
        succeed: {
          description: 'All that was started outside has ended well.',
          guard: when(operations),
          target: 'succeeded',
          actions: set({ outcome: lit('ok'), finished_at: clock }),
        },
        fail: {
          description: 'It was never issued, it failed outside, or nobody can know.',
          guard: when({
            outcome_not_proven: or(
              and(eq(field('outcome'), lit('not_issued')), isNull(col('issued_at'))),
              and(eq(field('outcome'), lit('failed')), not(isNull(col('operations')))),
              and(eq(field('outcome'), lit('unknown')), lte(col('settles_at'), clock)),
            ),
          }),
          target: 'failed',
          actions: set({ outcome: field('outcome'), error: field('error'), finished_at: clock }),
        },
        deadline: [
          {
            description: 'Its time is over, and nothing was started.',
            guard: when({ ...tooLate, ...nothingIssued }),
            target: 'failed',
            actions: set({
              outcome: lit('not_issued'),
              error: lit(notTaken),
              finished_at: clock,
            }),
          },
          {
            description: 'Its time is over, and the provider is still at it.',
            guard: when({ ...tooLate, ...operations, ...settled }),
            target: 'failed',
            actions: set({
              outcome: lit('unknown'),
              error: lit(stillAtIt),
              finished_at: clock,
            }),
          },
          {
            description: 'Its time is over, and what became of the call is not known.',
            guard: when({ ...tooLate, ...settled }),
            target: 'failed',
            actions: set({
              outcome: lit('unknown'),
              error: lit(notFound),
              finished_at: clock,
            }),
          },
        ],
        cancel: {
          description: 'Somebody does not want it any more, and nothing was started.',
          guard: when(nothingIssued),
          target: 'canceled',
          actions: set({ finished_at: clock }),
        },
      },
    },
    succeeded: { type: 'final', description: 'The provider says that it is done.' },
    failed: {
      type: 'final',
      description:
        'It did not come about, or nobody knows: ‘not_issued’ changed nothing, ‘failed’ began ' +
        'and did not end well, ‘unknown’ is to be looked up at the provider.',
    },
    canceled: { type: 'final', description: 'Somebody took it back before anything was started.' },
  },
});
