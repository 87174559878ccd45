// Asking for a change, by one and by many at once, and taking it back.

import { describe, expect, it } from 'vitest';
import { dbops } from '../../../machines/dbops.ts';
import { claim } from '../../../persistence/claims.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { findOperation, pageOfOperations } from '../../../services/operations/read.ts';
import {
  cancelOperation,
  enqueueChange,
  requestChange,
} from '../../../services/operations/request.ts';
import { fresh, useOpened } from '../../support/opened.ts';
import { ask, fakeWithDev, providerOf, resetDev } from '../../support/operations.ts';

const database = useOpened();
const provider = { name: 'somewhere' };
const asking = (idempotencyKey: string, branch = idempotencyKey, actor = 'ada') => ({
  ...{ actor, idempotencyKey, change: { action: 'reset', branch } as const },
});
const enqueue = (given: ReturnType<typeof asking>) =>
  transaction(database(), (tx) => enqueueChange(tx, provider, given));

const cancel = (id: string, actor = 'ada', db = database()) =>
  transaction(db, (tx) => cancelOperation(tx, id, actor));

async function claimed(id: string) {
  const fields = { owner: 'worker', lease_ms: 60_000, deadline_ms: 60_000 };
  await transaction(database(), (tx) =>
    claim(tx, dbops, 'claim', { limit: 1, where: { id }, ...fields }),
  );
}

describe('a request', () => {
  it('is the same operation under the same key, also when it has ended', async () => {
    const first = await enqueue(asking('a'));
    expect(first).toMatchObject({ outcome: 'accepted' });
    expect(await enqueue(asking('a'))).toEqual({ outcome: 'replayed', id: first.id });
    await cancel(first.id);
    expect(await enqueue(asking('a'))).toEqual({ outcome: 'replayed', id: first.id });
  });

  it('is refused under the key of another one, and not under that of somebody else', async () => {
    const { id } = await enqueue(asking('b'));
    const reused = { outcome: 'idempotency_key_reused', id };
    expect(await enqueue(asking('b', 'other'))).toEqual(reused);
    expect(await enqueue(asking('b', 'other', 'bob'))).toMatchObject({ outcome: 'accepted' });
  });

  it('is told of the operation that has the branch', async () => {
    const { id } = await enqueue(asking('c'));
    expect(await enqueue(asking('c2', 'c'))).toEqual({ outcome: 'in_flight', id });
    await claimed(id);
    expect(await enqueue(asking('c2', 'c'))).toEqual({ outcome: 'in_flight', id });
    await cancel(id);
    expect(await enqueue(asking('c2', 'c'))).toMatchObject({ outcome: 'accepted' });
  });

  it('of ten at once is accepted once, with one key or with ten', async () => {
    const ten = Array.from({ length: 10 }, (_, i) => i);
    const same = await Promise.all(ten.map(() => enqueue(asking('d'))));
    const count = (all: readonly { readonly outcome: string }[], wanted: string) =>
      all.filter(({ outcome }) => outcome === wanted).length;
    expect([count(same, 'accepted'), count(same, 'replayed')]).toEqual([1, 9]);
    const different = await Promise.all(ten.map((i) => enqueue(asking(`e ${i}`, 'e'))));
    expect([count(different, 'accepted'), count(different, 'in_flight')]).toEqual([1, 9]);
    expect(new Set([...different].map(({ id }) => id)).size).toBe(1);
  });

  it('does not exist when the transaction that causes it does not', async () => {
    const undone = new Error('undone');
    const work = transaction(database(), async (tx) => {
      await enqueueChange(tx, provider, asking('f'));
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
    expect(await enqueue(asking('f'))).toMatchObject({ outcome: 'accepted' });
  });

  it('is judged by what the provider lists, before anything is enqueued', async () => {
    const fake = await fakeWithDev();
    fake.addBranch('precious', 'main', true);
    const neon = providerOf(fake);
    let keys = 0;
    const request = (change: Parameters<typeof requestChange>[2]['change']) => {
      keys += 1;
      return requestChange(database(), neon, { actor: 'ada', idempotencyKey: `g ${keys}`, change });
    };
    expect(await request({ action: 'reset', branch: 'gone' })).toMatchObject({
      outcome: 'branch_not_found',
    });
    expect(await request({ action: 'reset', branch: 'main' })).toMatchObject({ because: 'root' });
    expect(await request({ action: 'delete', branch: 'precious' })).toMatchObject({
      because: 'protected',
    });
    expect(await request({ action: 'create', branch: 'x', parent: 'gone' })).toMatchObject({
      outcome: 'parent_not_found',
    });
    expect(await request({ action: 'create', branch: 'dev', parent: 'main' })).toMatchObject({
      outcome: 'branch_exists',
    });
    fake.rule('branches', { status: 429, headers: { 'retry-after': '7' } });
    expect(await request(resetDev)).toMatchObject({
      ...{ outcome: 'provider_unavailable', retryAfterMs: 7000 },
    });
    expect(await request(resetDev)).toMatchObject({ outcome: 'accepted' });
    expect(fake.issued()).toEqual([]);
  });
});

describe('a cancel', () => {
  it('is taken while nothing is issued, and refused after', async () => {
    const { id } = await enqueue(asking('h'));
    await claimed(id);
    const intent = { id, fence: 1, issue_mark: null, settle_ms: 1, lease_ms: 60_000 };
    await transaction(database(), (tx) => send(tx, dbops, 'intend', intent));
    expect(await cancel(id)).toEqual({
      ...{ outcome: 'refused', status: 'running', because: ['already_issued'] },
    });
    const { id: other } = await enqueue(asking('i'));
    await claimed(other);
    expect(await cancel(other)).toMatchObject({ outcome: 'canceled' });
    expect(await cancel(other)).toMatchObject({
      ...{ outcome: 'refused', status: 'canceled' },
    });
    expect(await cancel('nonsense')).toEqual({ outcome: 'missing' });
  });
});

describe('operations', () => {
  it('are shown one with its journal, and in pages by key, newest first', async () => {
    const db = await fresh();
    const ids: string[] = [];
    for (const branch of ['a', 'b', 'c', 'd', 'e']) {
      ids.push(await ask(db, provider, { action: 'reset', branch }));
    }
    const [newest = ''] = ids.toReversed();
    await cancel(newest, 'bob', db);
    expect(await findOperation(db, newest)).toMatchObject({
      row: { status: 'canceled', target: 'e', principal: 'ada', operations: null },
      journal: [{ event: 'cancel', actor: 'bob', from_status: 'queued' }],
    });
    expect(await findOperation(db, 'nonsense')).toBeUndefined();
    const seen: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = await pageOfOperations(db, { limit: 2, before });
      seen.push(...page.rows.map(({ id }) => id));
      if (page.next === undefined) break;
      before = page.next;
    }
    expect(seen).toEqual(ids.toReversed());
    const queued = await pageOfOperations(db, { status: 'queued', target: 'e', limit: 9 });
    expect(queued).toEqual({ rows: [], next: undefined });
  });
});
