// Transactions while the connection holds: limits, isolation, other attempts, what comes after.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { claim, heal, sweep } from '../../persistence/claims.ts';
import { TransactionAbortedError } from '../../persistence/connection.ts';
import type { Database } from '../../persistence/database.ts';
import { send, sendMany } from '../../persistence/door.ts';
import { readJournal } from '../../persistence/journal.ts';
import type { Limits } from '../../persistence/limits.ts';
import { afterCommit, type Tx, transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, enqueue, enqueueIn, statusOf } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { freeConnections, pooled } from '../support/pooled.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();

const settings = [
  'lock_timeout',
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'transaction_timeout',
  'transaction_isolation',
];

async function shown(db: Database['db'] | Tx): Promise<Record<string, string>> {
  const { rows } = await sql<{ name: string; value: string }>`
    select name, current_setting(name) as value from unnest(${settings}::text[]) name`.execute(db);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Fails as Postgres does. */
const fail = (tx: Tx, sqlstate: string) =>
  sql`do ${sql.raw(`$$ begin raise exception using errcode = '${sqlstate}'; end $$`)}`.execute(tx);

/** Two that come together here go on together. */
function meeting(): () => Promise<void> {
  const both = signal();
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived === 2) both.give();
    return both.given;
  };
}

describe('limits', () => {
  const limits: Limits = { lockMs: 1234, statementMs: 2345, idleMs: 3456, transactionMs: 4567 };

  it('are in force inside a transaction and not outside', async () => {
    const limited = await opened({ url: database().url, connections: 1, limits });
    const before = await shown(limited.db);
    expect(await transaction(limited, shown)).toEqual({
      lock_timeout: '1234ms',
      statement_timeout: '2345ms',
      idle_in_transaction_session_timeout: '3456ms',
      transaction_timeout: '4567ms',
      transaction_isolation: 'read committed',
    });
    expect(await shown(limited.db)).toEqual(before);
    expect(before['lock_timeout']).toBe('0');
  });

  it('end a statement that waits for a lock, and leave the rest of the work intact', async () => {
    const short = { ...limits, lockMs: 50 };
    const limited = await opened({ url: database().url, connections: 2, limits: short });
    const { id, attempts: fence } = await claimedOne(database());
    await transaction(database(), async (holder) => {
      await send(holder, outbox, 'renew', { id, fence, lease_ms: 60_000 });
      const waiting = transaction(limited, async (tx) => {
        const [born] = await enqueueIn(tx);
        const late = send(tx, outbox, 'sent', { id, fence });
        await expect(late).rejects.toMatchObject({ code: '55P03' });
        return String(born);
      });
      expect(await statusOf(database(), await waiting)).toBe('pending');
    });
  });
});

describe('isolation', () => {
  it('is READ COMMITTED, whatever the default of the database is', async () => {
    const name = new URL(database().url).pathname.slice(1);
    const set = (what: string) =>
      sql.raw(`alter database "${name}" ${what}`).execute(database().db);
    await set(`set default_transaction_isolation = 'repeatable read'`);
    try {
      const strict = await opened({ url: database().url, connections: 1 });
      expect(await shown(strict.db)).toMatchObject({ transaction_isolation: 'repeatable read' });
      const inside = await transaction(strict, shown);
      expect(inside).toMatchObject({ transaction_isolation: 'read committed' });
    } finally {
      await set('reset default_transaction_isolation');
    }
  });
});

describe('another attempt', () => {
  it('follows a deadlock, and both transactions get through', async () => {
    const [a = '', b = ''] = await enqueue(database(), 2);
    const told: unknown[] = [];
    const meet = meeting();
    const lock = (tx: Tx, id: string) =>
      sql`select 1 from fencepost.delivery where id = ${id}::uuid for no key update`.execute(tx);
    const both = (first: string, second: string) =>
      transaction(
        database(),
        async (tx) => {
          await sql`set local deadlock_timeout = '10ms'`.execute(tx);
          await lock(tx, first);
          await meet();
          await lock(tx, second);
          return 'through';
        },
        { onRetry: (error) => told.push(error) },
      );
    expect(await Promise.all([both(a, b), both(b, a)])).toEqual(['through', 'through']);
    expect(told).toEqual([expect.objectContaining({ code: '40P01' })]);
  });

  it('follows a serialization failure, as often as was asked for', async () => {
    const told: unknown[] = [];
    let runs = 0;
    const failing = transaction(
      database(),
      (tx) => {
        runs += 1;
        return fail(tx, '40001');
      },
      { attempts: 3, onRetry: (error) => told.push(error) },
    );
    await expect(failing).rejects.toMatchObject({ code: '40001' });
    expect([runs, told.length]).toEqual([3, 2]);
  });

  it.each(['23514', '22003', '42601', '55P03', '57014', '25006', 'P0001'])(
    'does not follow %s',
    async (sqlstate) => {
      let runs = 0;
      const failing = transaction(database(), (tx) => {
        runs += 1;
        return fail(tx, sqlstate);
      });
      await expect(failing).rejects.toMatchObject({ code: sqlstate });
      expect(runs).toBe(1);
    },
  );

  it('does not follow an error of the caller that looks like one of Postgres', async () => {
    let runs = 0;
    const failing = transaction(database(), async () => {
      runs += 1;
      throw Object.assign(new Error('mine'), { code: '40P01' });
    });
    await expect(failing).rejects.toThrow('mine');
    expect(runs).toBe(1);
  });
});

describe('afterCommit', () => {
  it('runs once a key, when others can see what was committed', async () => {
    const seen: (Promise<string | undefined> | string)[] = [];
    await transaction(database(), async (tx) => {
      const [id = ''] = await enqueueIn(tx);
      afterCommit(tx, 'look', () => seen.push('overwritten'));
      afterCommit(tx, 'look', (committed) => seen.push(statusOf(committed, id)));
      expect(seen).toEqual([]);
    });
    expect(await Promise.all(seen)).toEqual(['pending']);
  });

  it('never runs when the transaction is rolled back', async () => {
    const seen: string[] = [];
    const failing = transaction(database(), async (tx) => {
      afterCommit(tx, 'look', () => seen.push('ran'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(seen).toEqual([]);
  });

  it('never runs for an attempt that failed', async () => {
    const seen: number[] = [];
    let run = 0;
    await transaction(database(), async (tx) => {
      run += 1;
      const mine = run;
      afterCommit(tx, `attempt ${mine}`, () => seen.push(mine));
      if (run < 3) await fail(tx, '40001');
    });
    expect(seen).toEqual([3]);
  });

  it('never runs when the commit is refused', async () => {
    const seen: string[] = [];
    const failing = transaction(database(), async (tx) => {
      afterCommit(tx, 'look', () => seen.push('ran'));
      await fail(tx, 'P0001').catch(() => undefined);
    });
    await expect(failing).rejects.toThrow(TransactionAbortedError);
    expect(seen).toEqual([]);
  });
});

it('a swallowed error of a statement makes the commit fail, and nothing lands', async () => {
  let id = '';
  const failing = transaction(database(), async (tx) => {
    [id = ''] = await enqueueIn(tx);
    await sql`select 1 / 0`.execute(tx).catch(() => undefined);
  });
  await expect(failing).rejects.toMatchObject({ code: 'transaction_aborted' });
  expect(await statusOf(database(), id)).toBeUndefined();
});

describe('a pool of one connection', () => {
  it('is enough for every function of the door, in one transaction and one by one', async () => {
    const single = pooled({ url: database().url, connections: 1 });
    const options = { limit: 5, owner: 'w', lease_ms: 60_000 } as const;
    const work = async (inOne: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>) => {
      await inOne((tx) => enqueueIn(tx, 4, { channel: 'single' }));
      const where = { channel: 'single' };
      const runs = await inOne((tx) => claim(tx, outbox, 'claim', { ...options, where }));
      const rows = runs.map(({ id, attempts: fence }) => ({ id, fence }));
      const [first = { id: '', fence: 0 }, ...others] = rows;
      await inOne((tx) => send(tx, outbox, 'sent', { ...first, receipt: { ok: true } }));
      await inOne((tx) => sendMany(tx, outbox, 'release', others));
      await inOne((tx) => sendMany(tx, outbox, 'release', others));
      await inOne((tx) => sweep(tx, outbox, 'lease.expired', { limit: 5 }));
      await inOne((tx) => heal(tx, outbox, first.id));
      const journal = await inOne((tx) => readJournal(tx, outbox, first.id));
      return [runs.length, journal.map(({ event }) => event)];
    };
    const expected = [4, ['claim', 'sent']];
    expect(await work((each) => transaction(single, each))).toEqual(expected);
    await claimed(database(), 100);
    expect(await transaction(single, (tx) => work((each) => each(tx)))).toEqual(expected);
    expect(await freeConnections(single)).toBe(1);
  });
});

it('transactions that send to the same runs in opposite order do not deadlock', async () => {
  await enqueue(database(), 20, { channel: 'order' });
  const where = { channel: 'order' };
  const options = { limit: 20, owner: 'w', lease_ms: 60_000, where } as const;
  const runs = await transaction(database(), (tx) => claim(tx, outbox, 'claim', options));
  const rows = runs.map(({ id, attempts: fence }) => ({ id, fence, lease_ms: 60_000 }));
  const told: unknown[] = [];
  const renewals = Array.from({ length: 30 }, (_, i) =>
    transaction(
      database(),
      (tx) => sendMany(tx, outbox, 'renew', i % 2 ? rows : rows.toReversed()),
      { onRetry: (error) => told.push(error) },
    ),
  );
  const outcomes = (await Promise.all(renewals)).flat();
  expect(outcomes.filter(({ outcome }) => outcome !== 'applied')).toEqual([]);
  expect([outcomes.length, told]).toEqual([600, []]);
});
