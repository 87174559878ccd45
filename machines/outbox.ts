// The outbox: a notification, from the transaction that caused it to the receipt of its channel.
// Its runs are rows of `delivery`; services/deliveries moves them, and nobody else does.
//
// - `attempts` counts claims and is the fence. `failures` counts what a receiver saw, and only that
//   is bounded by `max_failures`: a deploy or a crash is never held against a delivery.
// - `give_up_at` bounds everything that is not a failure, `max_lease_losses` what kills its
//   workers.
// - A redrive is a new delivery with the same `message_key`, so a receiver can drop a duplicate.

import { statusMachine } from './status-machine.ts';
import {
  after,
  backoff,
  clock,
  coalesce,
  col,
  field,
  greatest,
  increment,
  least,
  lit,
  lt,
  lte,
  or,
  set,
  when,
} from './vocabulary.ts';

const baseMs = 1000;
const capMs = 3_600_000;
const dayMs = 86_400_000;

const due = { not_due: lte(col('next_attempt_at'), clock) };
const lapsed = { not_lapsed: lte(col('lease_expires_at'), clock) };
const inTime = { given_up: lt(clock, col('give_up_at')) };
const failuresLeft = { no_failures_left: lt(increment(col('failures')), col('max_failures')) };

/** What the receiver asked for, at most a day: a receiver cannot put a delivery off for ever. */
const asked = after(
  clock,
  greatest(lit(0), least(coalesce(field('retry_after_ms'), lit(0)), lit(dayMs))),
);
const maybeTwice = or(col('maybe_twice'), coalesce(field('unknown'), lit(false)));
const failure = {
  failures: increment(col('failures')),
  last_error: field('error'),
  maybe_twice: maybeTwice,
};

export const outbox = statusMachine({
  id: 'outbox',
  description: 'A notification on its way to one recipient.',
  table: 'delivery',
  columns: {
    channel: 'text',
    recipient: 'text',
    payload: 'text',
    message_key: 'text',
    redrive_of: 'uuid?',
    enqueued_by: 'text?',
    max_failures: 'int',
    max_lease_losses: 'int',
    give_up_at: 'instant',
    created_at: 'instant',
    attempts: 'int',
    failures: 'int',
    lease_losses: 'int',
    next_attempt_at: 'instant',
    lease_expires_at: 'instant?',
    lease_owner: 'text?',
    maybe_twice: 'bool',
    last_error: 'text?',
    receipt: 'json?',
    finished_at: 'instant?',
  },
  frozen: [
    'channel',
    'recipient',
    'payload',
    'message_key',
    'redrive_of',
    'enqueued_by',
    'max_failures',
    'max_lease_losses',
    'give_up_at',
    'created_at',
  ],
  fence: 'attempts',
  lease: 'lease_expires_at',
  owner: 'lease_owner',
  events: {
    claim: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    sent: { by: 'owner', fields: { receipt: 'json?' } },
    fail: {
      by: 'owner',
      fields: { retryable: 'bool', error: 'text', unknown: 'bool?', retry_after_ms: 'int?' },
    },
    throttle: { by: 'owner', fields: { retry_after_ms: 'int', error: 'text?' } },
    release: { by: 'owner' },
    renew: { by: 'owner', fields: { lease_ms: 'int' } },
    'lease.expired': { by: 'sweep' },
  },
  commands: {
    redrive: {
      from: ['failed', 'dead'],
      description: 'Makes a new delivery of the same message, linked to this one.',
    },
  },
  initial: 'pending',
  states: {
    pending: {
      description: 'Waits until it is due.',
      on: {
        claim: {
          description: 'A worker takes it.',
          guard: when(due),
          target: 'processing',
          actions: set({
            attempts: increment(col('attempts')),
            lease_expires_at: after(clock, field('lease_ms')),
            lease_owner: field('owner'),
          }),
        },
      },
    },
    processing: {
      description: 'A worker has it and is talking to the channel.',
      tags: ['leased'],
      on: {
        sent: {
          description: 'The channel accepted it.',
          target: 'sent',
          actions: set({ receipt: field('receipt'), finished_at: clock }),
        },
        fail: [
          {
            description: 'It may pass: another attempt later.',
            guard: when({ not_retryable: field('retryable'), ...failuresLeft, ...inTime }),
            target: 'pending',
            actions: set({
              ...failure,
              next_attempt_at: greatest(
                after(clock, backoff(col('failures'), baseMs, capMs)),
                asked,
              ),
            }),
          },
          {
            description: 'It might have passed, but the attempts or the time are used up.',
            guard: when({ not_retryable: field('retryable') }),
            target: 'dead',
            actions: set({ ...failure, finished_at: clock }),
          },
          {
            description: 'The receiver refused it for good.',
            target: 'failed',
            actions: set({ ...failure, finished_at: clock }),
          },
        ],
        throttle: [
          {
            description: 'The receiver asked to wait. This is not a failure.',
            guard: when(inTime),
            target: 'pending',
            actions: set({ next_attempt_at: asked, last_error: field('error') }),
          },
          {
            description: 'The receiver asked to wait once too often.',
            target: 'dead',
            actions: set({ last_error: field('error'), finished_at: clock }),
          },
        ],
        release: [
          {
            description: 'The worker gives it back untouched, in a deploy for example.',
            guard: when(inTime),
            target: 'pending',
            actions: set({ next_attempt_at: clock }),
          },
          {
            description: 'Given back after its time was over.',
            target: 'dead',
            actions: set({ finished_at: clock }),
          },
        ],
        renew: {
          description: 'The worker is alive.',
          target: 'processing',
          actions: set({ lease_expires_at: after(clock, field('lease_ms')) }),
        },
        'lease.expired': [
          {
            description: 'Its worker is gone. This is not a failure.',
            guard: when({
              ...lapsed,
              no_lease_losses_left: lt(increment(col('lease_losses')), col('max_lease_losses')),
            }),
            target: 'pending',
            actions: set({
              lease_losses: increment(col('lease_losses')),
              next_attempt_at: after(clock, backoff(col('lease_losses'), baseMs, capMs)),
            }),
          },
          {
            description: 'It lost its worker once too often.',
            guard: when(lapsed),
            target: 'dead',
            actions: set({ lease_losses: increment(col('lease_losses')), finished_at: clock }),
          },
        ],
      },
    },
    sent: { type: 'final', description: 'The channel has it; the receipt says how.' },
    failed: { type: 'final', description: 'Refused for good. An operator may redrive it.' },
    dead: { type: 'final', description: 'Given up. An operator may redrive it.' },
  },
});
