// Runs that cannot be moved, among others that can: they are set aside by name, once, and neither
// end a batch nor hide what is behind them.

import { sql } from 'kysely';
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { claim, heal, sweep } from '../../persistence/claims.ts';
import { create } from '../../persistence/create.ts';
import type { Database } from '../../persistence/database.ts';
import { type EventRow, send, sendMany } from '../../persistence/door.ts';
import { storable } from '../../persistence/text.ts';
import { transaction } from '../../persistence/transaction.ts';
import {
  claimed,
  claimedOne,
  empty,
  enqueue,
  force,
  letter,
  statusOf,
} from '../support/deliveries.ts';
import { claimLoosely } from '../support/loose-door.ts';
import { opened, useOpened } from '../support/opened.ts';

const database = useOpened();
beforeEach(() => empty(database()));

/** An attempt count that no claim can raise any more. */
const worn = 'attempts = 2147483647';
const age = (minutes: number) =>
  `next_attempt_at = clock_timestamp() - interval '${minutes} minutes'`;

const run = (text: string) => sql.raw(text).execute(database().db);
const quarantined = () =>
  database()
    .db.selectFrom('fencepost.quarantine')
    .select(['run', 'event', 'sqlstate', 'reason'])
    .orderBy('run')
    .execute();

/** Keeps a constraint while the work runs. */
async function constrained(condition: string, work: () => Promise<void>): Promise<void> {
  const table = 'alter table fencepost.delivery';
  await run(`${table} add constraint poison check (${condition}) not valid`);
  try {
    await work();
  } finally {
    await run(`${table} drop constraint poison`);
  }
}

/** A database whose statements are counted. */
async function counted() {
  let count = 0;
  class Counting extends pg.Client {
    override query(...args: unknown[]): never {
      count += 1;
      return Reflect.apply(super.query, this, args) as never;
    }
  }
  const counting = await opened({ url: database().url, connections: 1, clientClass: Counting });
  const during = async <T>(work: (on: Database) => Promise<T>) => {
    const before = count;
    return [await work(counting), count - before] as const;
  };
  return during;
}

describe('a claim', () => {
  it('takes the others in due order, and sets aside whose fence cannot be raised', async () => {
    const ids = await enqueue(database(), 12);
    for (const [i, id] of ids.entries()) await force(database(), id, age(60 - i));
    const [first = '', second = '', , , third = ''] = ids;
    const poison = [first, second, third];
    for (const id of poison) await force(database(), id, worn);
    const good = ids.filter((id) => !poison.includes(id));
    const during = await counted();

    const [runs] = await during((on) => claimed(on, 8));
    // Three of the eight that were picked are poison.
    expect(runs.map(({ id }) => id)).toEqual(good.slice(0, 5));
    expect(runs.every(({ attempts, status }) => attempts === 1 && status === 'processing')).toBe(
      true,
    );
    const aside = await quarantined();
    expect(aside.map((row) => row.run)).toEqual(poison.toSorted());
    for (const { event, sqlstate, reason } of aside) {
      expect([event, sqlstate]).toEqual(['claim', '23514']);
      expect(reason).toMatch(/^delivery .* needs a higher fence than 2147483647$/);
    }
    for (const id of poison) expect(await statusOf(database(), id)).toBe('pending');

    const [rest, statements] = await during((on) => claimed(on, 8));
    expect(rest.map(({ id }) => id)).toEqual(good.slice(5));
    // Begin, savepoint, claim, release, commit: the quick way again.
    expect(statements).toBe(5);
  });

  it('takes a run that was mended and taken out of the quarantine', async () => {
    const [id = ''] = await enqueue(database());
    await force(database(), id, worn);
    expect(await claimed(database())).toEqual([]);
    await force(database(), id, 'attempts = 3');
    expect(await claimed(database())).toEqual([]);
    await run('delete from fencepost.quarantine');
    expect(await claimed(database())).toMatchObject([{ id, attempts: 4 }]);
  });

  it('gets through a head of the queue that is all poison, in one call', async () => {
    const ids = await enqueue(database(), 40);
    const [...poison] = ids.slice(0, 30);
    for (const [i, id] of poison.entries()) {
      await force(database(), id, `${worn}, ${age(60 - i)}`);
    }
    expect(await claimed(database(), 30)).toHaveLength(10);
    expect((await quarantined()).map((row) => row.run)).toEqual(poison.toSorted());
  });

  it('leaves the work of its transaction before and after it intact', async () => {
    const [bad = ''] = await enqueue(database());
    await force(database(), bad, worn);
    const [before, after] = await transaction(database(), async (tx) => {
      const [first = ''] = await create(tx, outbox, [letter({ channel: 'other' })]);
      await heal(tx, outbox, bad);
      const options = { limit: 5, owner: 'w', lease_ms: 1, where: { channel: 'email' } } as const;
      expect(await claim(tx, outbox, 'claim', options)).toEqual([]);
      const [second = ''] = await create(tx, outbox, [letter({ channel: 'other' })]);
      return [first, second];
    });
    expect(await statusOf(database(), before)).toBe('pending');
    expect(await statusOf(database(), after)).toBe('pending');
    expect(await quarantined()).toHaveLength(1);
  });
});

describe('a sweep', () => {
  it('frees the others, and sets aside the run that a constraint holds', async () => {
    const ids = await enqueue(database(), 5);
    await claimed(database(), 5);
    const [bad = '', ...good] = ids;
    for (const id of ids) await force(database(), id, 'lease_expires_at = created_at');
    await force(database(), bad, "lease_owner = 'stuck'");
    const sweepAll = () =>
      transaction(database(), (tx) => sweep(tx, outbox, 'lease.expired', { limit: 10 }));
    await constrained(`lease_owner is not null or id <> '${bad}'`, async () => {
      const swept = await sweepAll();
      expect(swept.map(({ id }) => id).toSorted()).toEqual(good.toSorted());
      expect(await quarantined()).toMatchObject([{ run: bad, event: 'lease.expired' }]);
      expect(await sweepAll()).toEqual([]);
      const healed = await transaction(database(), (tx) => heal(tx, outbox, bad));
      expect(healed).toBeUndefined();
    });
    await run('delete from fencepost.quarantine');
    expect((await sweepAll()).map(({ id }) => id)).toEqual([bad]);
  });
});

describe('events by id', () => {
  it('land for 99 of 100, and the one that breaks a constraint is named with it', async () => {
    await enqueue(database(), 100);
    const runs = await claimed(database(), 100);
    const bad = runs[57]?.id ?? '';
    const rows = runs.map(({ id, attempts: fence }) => ({
      id,
      fence,
      receipt: { ok: id !== bad },
    }));
    await constrained("receipt->>'ok' = 'true' or receipt is null", async () => {
      const outcomes = await transaction(database(), (tx) => sendMany(tx, outbox, 'sent', rows));
      expect(outcomes.map(({ id }) => id)).toEqual(runs.map(({ id }) => id));
      const { 57: refused } = outcomes;
      expect(refused).toMatchObject({ outcome: 'invalid', code: 'constraint', where: 'poison' });
      expect(outcomes.filter(({ outcome }) => outcome === 'applied')).toHaveLength(99);
    });
    expect(await statusOf(database(), bad)).toBe('processing');
    expect(await quarantined()).toEqual([]);
  });

  it('land for 99 of 100, and a value that cannot be stored is named with its field', async () => {
    await enqueue(database(), 100);
    const runs = await claimed(database(), 100);
    const rows = runs.map(({ id, attempts: fence }, i) => ({
      id,
      fence,
      error: i === 31 ? 'a\u0000b' : 'refused',
      retryable: false,
    }));
    const outcomes = await transaction(database(), (tx) => sendMany(tx, outbox, 'fail', rows));
    const { 31: refused } = outcomes;
    expect(refused).toMatchObject({ outcome: 'invalid', code: 'nul', where: 'error' });
    expect(outcomes.filter(({ outcome }) => outcome === 'applied')).toHaveLength(99);
  });

  it('land with an error of our own that has NUL and half a face in it, mended', async () => {
    const { id, attempts: fence } = await claimedOne(database());
    const error = storable('a\u0000b \ud83d c', 100);
    const fields = { id, fence, error, retryable: false };
    const failed = await transaction(database(), (tx) => send(tx, outbox, 'fail', fields));
    expect(failed.outcome).toBe('applied');
    const { rows } = await sql`select status, last_error from fencepost.delivery`.execute(
      database().db,
    );
    expect(rows).toEqual([{ status: 'failed', last_error: 'a\uFFFDb \uFFFD c' }]);
  });

  const nul = 'a\u0000b';
  it.each<[string, keyof typeof outbox.events & ('sent' | 'throttle'), object, string]>([
    ['a text', 'throttle', { retry_after_ms: 1, error: nul }, 'error'],
    ['a value in json', 'sent', { receipt: { deep: [{ er: nul }] } }, 'receipt'],
    ['a key in json', 'sent', { receipt: { [nul]: 1 } }, 'receipt'],
    ['json that is a text', 'sent', { receipt: nul }, 'receipt'],
  ])('are refused by name for NUL in %s', async (_, event, fields, where) => {
    const { id, attempts: fence } = await claimedOne(database());
    const row = { id, fence, ...fields } as EventRow<typeof outbox, typeof event>;
    const outcome = await transaction(database(), (tx) => send(tx, outbox, event, row));
    expect(outcome).toMatchObject({ outcome: 'invalid', id, code: 'nul', where });
    expect(await statusOf(database(), id)).toBe('processing');
  });
});

describe('a birth', () => {
  it.each(['channel', 'recipient', 'payload', 'message_key'] as const)(
    'is refused by name for NUL in %s',
    async (column) => {
      const born = enqueue(database(), 2, { [column]: 'a\u0000b' });
      await expect(born).rejects.toMatchObject({
        code: 'invalid_values',
        values: [
          { index: 0, column, code: 'nul' },
          { index: 1, column, code: 'nul' },
        ],
      });
      expect(await claimed(database())).toEqual([]);
    },
  );

  it('is refused for half a face, and for a column that is the kernel', async () => {
    await expect(enqueue(database(), 1, { payload: '\ud83d' })).rejects.toThrow('lone_surrogate');
    const owned = { attempts: 7 } as object;
    await expect(enqueue(database(), 1, owned)).rejects.toThrow('attempts: unknown_column');
  });
});

describe('who claims', () => {
  it.each([
    ['an owner with NUL', { owner: 'a\u0000b' }, 'field owner: nul'],
    ['no owner', { owner: undefined }, 'field owner: missing'],
    ['a lease of no number', { lease_ms: Number.NaN }, 'field lease_ms: out_of_range'],
    ['a channel with NUL', { where: { channel: 'a\u0000b' } }, 'where channel: nul'],
    ['an unknown column', { where: { letter: 'a' } }, 'where letter: no such column'],
    ['no limit', { limit: 0 }, 'limit is from 1 to 10000'],
    ['too much', { limit: 10_001 }, 'limit is from 1 to 10000'],
    ['half a run', { limit: 0.5 }, 'limit is from 1 to 10000'],
  ])('with %s has made a mistake', async (_, changed, message) => {
    const options = { limit: 1, owner: 'w', lease_ms: 1, ...changed };
    const claims = transaction(database(), (tx) => claimLoosely(tx, outbox, 'claim', options));
    await expect(claims).rejects.toThrow(message);
  });
});
