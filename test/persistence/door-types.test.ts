// What does not compile at the door. Each call below has one mistake, on the line after the comment
// that names it: if the compiler stops to see it, `npm run check` fails on the unused comment. The
// calls are never run.

import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { claim, sweep } from '../../persistence/claims.ts';
import { create } from '../../persistence/create.ts';
import { send, sendMany } from '../../persistence/door.ts';
import type { Tx } from '../../persistence/transaction.ts';

const id = '018f2f3e-0000-7000-8000-00000000abcd';
const owner = 'ada';

const right: readonly ((tx: Tx) => Promise<unknown>)[] = [
  (tx) => send(tx, outbox, 'sent', { id, fence: 1, receipt: { messageId: 'x' } }),
  (tx) => send(tx, outbox, 'sent', { id, fence: 1 }),
  (tx) => send(tx, outbox, 'release', { id, fence: 1 }),
  (tx) => send(tx, outbox, 'fail', { id, fence: 1, retryable: true, error: 'x', unknown: null }),
  (tx) => send(tx, outbox, 'lease.expired', { id, actor: owner }),
  (tx) => sendMany(tx, outbox, 'renew', [{ id, fence: 1, lease_ms: 1000 }]),
  (tx) => claim(tx, outbox, 'claim', { limit: 1, owner, lease_ms: 1000 }),
  (tx) => claim(tx, outbox, 'claim', { limit: 1, owner, lease_ms: 1, where: { channel: 'email' } }),
  (tx) => sweep(tx, outbox, 'lease.expired', { limit: 1 }),
  (tx) =>
    create(tx, outbox, [{ channel: 'email', recipient: 'a', payload: 'b', message_key: 'c' }]),
];

const wrong: readonly ((tx: Tx) => Promise<unknown>)[] = [
  // @ts-expect-error an owner's event without the fence
  (tx) => send(tx, outbox, 'release', { id }),
  // @ts-expect-error a fence that is a text, as a bigint would arrive
  (tx) => send(tx, outbox, 'release', { id, fence: '1' }),
  // @ts-expect-error an owner's event by an actor in place of the fence
  (tx) => send(tx, outbox, 'release', { id, actor: owner }),
  // @ts-expect-error another event without an actor
  (tx) => send(tx, outbox, 'lease.expired', { id }),
  // @ts-expect-error another event with a fence
  (tx) => send(tx, outbox, 'lease.expired', { id, actor: owner, fence: 1 }),
  // @ts-expect-error a required field that is missing
  (tx) => send(tx, outbox, 'fail', { id, fence: 1, retryable: true }),
  // @ts-expect-error a required field that is null
  (tx) => send(tx, outbox, 'fail', { id, fence: 1, retryable: null, error: 'x' }),
  // @ts-expect-error a field of another kind
  (tx) => send(tx, outbox, 'fail', { id, fence: 1, retryable: 'yes', error: 'x' }),
  // @ts-expect-error a field that the event does not have
  (tx) => send(tx, outbox, 'release', { id, fence: 1, error: 'x' }),
  // @ts-expect-error an event that the machine does not have
  (tx) => send(tx, outbox, 'expire', { id, actor: owner }),
  // @ts-expect-error no id
  (tx) => sendMany(tx, outbox, 'renew', [{ fence: 1, lease_ms: 1000 }]),
  // @ts-expect-error a claim by an event that takes no ownership
  (tx) => claim(tx, outbox, 'lease.expired', { limit: 1 }),
  // @ts-expect-error a claim without an owner
  (tx) => claim(tx, outbox, 'claim', { limit: 1, lease_ms: 1000 }),
  // @ts-expect-error a claim that looks for a column that may change
  (tx) => claim(tx, outbox, 'claim', { limit: 1, owner, lease_ms: 1, where: { failures: 0 } }),
  // @ts-expect-error a sweep by a claim
  (tx) => sweep(tx, outbox, 'claim', { limit: 1 }),
  // @ts-expect-error a sweep by an owner's event
  (tx) => sweep(tx, outbox, 'renew', { limit: 1 }),
  // @ts-expect-error a birth in another status
  (tx) => create(tx, outbox, [{ status: 'sent' }]),
  // @ts-expect-error a birth with a fence
  (tx) => create(tx, outbox, [{ attempts: 1 }]),
];

describe('the door', () => {
  it('has eighteen mistakes to see, beside ten calls that compile', () => {
    expect(wrong).toHaveLength(18);
    expect(right).toHaveLength(10);
  });
});
