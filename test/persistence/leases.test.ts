// Leases and the two things that must not decide over them: the clock of the process, and the name
// of the worker.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { heal, sweep } from '../../persistence/claims.ts';
import { send } from '../../persistence/door.ts';
import { readJournal } from '../../persistence/journal.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, empty, enqueue, force, statusOf } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { clockOf } from '../support/staging.ts';

const database = useOpened();
const second = 1_000_000;
const minute = 60 * second;

const sweepAll = () =>
  transaction(database(), (tx) => sweep(tx, outbox, 'lease.expired', { limit: 10 }));

beforeEach(() => empty(database()));
afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ['ten minutes fast', 600_000],
  ['an hour slow', -3_600_000],
])('a process whose clock is %s', (_, wrongMs) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + wrongMs });
  });

  it('takes what is due by the clock of the database, and nothing else', async () => {
    const now = await clockOf(database());
    await enqueue(database(), 1, { next_attempt_at: now + 5 * minute });
    const [due] = await enqueue(database(), 1, { next_attempt_at: now - second });
    expect((await claimed(database())).map(({ id }) => id)).toEqual([due]);
  });

  it('leaves alone who is alive, and frees who is not', async () => {
    const { id } = await claimedOne(database());
    expect(await sweepAll()).toEqual([]);
    expect(await transaction(database(), (tx) => heal(tx, outbox, id))).toBeUndefined();
    expect(await statusOf(database(), id)).toBe('processing');
    await force(database(), id, "lease_expires_at = clock_timestamp() - interval '1 second'");
    expect((await sweepAll()).map((each) => each.id)).toEqual([id]);
  });

  it('reckons leases, waits and the journal by the clock of the database', async () => {
    const before = await clockOf(database());
    const { id, attempts: fence, lease_expires_at: lease } = await claimedOne(database());
    const wait = { id, fence, retry_after_ms: 5000, error: null };
    const throttled = await transaction(database(), (tx) => send(tx, outbox, 'throttle', wait));
    const after = await clockOf(database());
    const between = (at: unknown, offset: number) =>
      Number(at) >= before + offset && Number(at) <= after + offset;
    expect(between(lease, minute)).toBe(true);
    const next = throttled.outcome === 'applied' ? throttled.after.next_attempt_at : undefined;
    expect(between(next, 5 * second)).toBe(true);
    const journal = await readJournal(database().db, outbox, id);
    expect(journal.map(({ at }) => between(at, 0))).toEqual([true, true]);
  });
});

describe('a worker that comes back under its old name', () => {
  it('does not own what it had: the lease frees it, and the fence knows who is who', async () => {
    const { id, attempts: first } = await claimedOne(database(), 'host-1');
    const restarted = await opened({ url: database().url, connections: 1 });
    expect(await claimed(restarted, 10, 'host-1')).toEqual([]);
    expect(await sweepAll()).toEqual([]);
    await force(database(), id, 'lease_expires_at = created_at');
    await sweepAll();
    await force(database(), id, 'next_attempt_at = created_at');
    const [again] = await claimed(restarted, 10, 'host-1');
    expect(again).toMatchObject({ id, attempts: first + 1, lease_owner: 'host-1' });
    const late = await transaction(database(), (tx) =>
      send(tx, outbox, 'sent', { id, fence: first }),
    );
    expect(late).toMatchObject({ outcome: 'lost', status: 'processing', fence: first + 1 });
    const rightful = { id, fence: first + 1 };
    const sent = await transaction(restarted, (tx) => send(tx, outbox, 'sent', rightful));
    expect(sent.outcome).toBe('applied');
  });
});
