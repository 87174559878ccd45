// How ends come to be written: what is tried again, what is replaced, and who waits for whom.

import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { outbox } from '../../../machines/outbox.ts';
import { CommitInDoubtError } from '../../../persistence/connection.ts';
import { type Database, openDatabase } from '../../../persistence/database.ts';
import { transaction } from '../../../persistence/transaction.ts';
import type { Work } from '../../../services/runs/work.ts';
import { enqueue } from '../../support/deliveries.ts';
import { gate } from '../../support/mail-sink.ts';
import { fresh } from '../../support/opened.ts';
import { openProxy } from '../../support/proxy.ts';
import { freshFor, running, sending } from '../../support/runs.ts';
import { sick } from '../../support/sick-database.ts';
import { signal } from '../../support/signal.ts';

const sent = { event: 'sent', fields: { receipt: null } } as const;

const counts = async ({ db }: Database) => {
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*) from fencepost.delivery group by 1 order by 1`.execute(db);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
};

const isOutcomes = (result: unknown) =>
  Array.isArray(result) && result.some((each) => 'outcome' in Object(each));

describe('an end', () => {
  it('is understood when the answer to its COMMIT was lost', async () => {
    const database = await fresh();
    const ill = sick(database);
    ill.swallow(new CommitInDoubtError('the answer was lost'), isOutcomes);
    await enqueue(database, 5);
    const { seen, of } = await running(ill, sending());
    await seen('ended', 5);
    expect(of('ended').map(({ outcome }) => outcome)).toEqual(Array(5).fill('applied'));
    expect(of('lost')).toEqual([]);
    expect(of('away')).toMatchObject([{ by: 'writer', failures: 1 }]);
    expect(await counts(database)).toEqual({ sent: 5 });
  });

  it('is tried until the database has it, while the next ones gather', async () => {
    const database = await fresh();
    const ill = sick(database);
    await enqueue(database, 3);
    let begun = 0;
    const handle = async () => {
      begun += 1;
      if (begun === 1) ill.refuse(new Error('the database is away'), 3);
      return sent;
    };
    const { seen, of } = await running(ill, sending({ handle }), { pace: { concurrency: 3 } });
    await seen('ended', 3);
    expect(of('away')).toHaveLength(3);
    expect(of('away').map(({ by }) => by)).toContain('writer');
    expect(await counts(database)).toEqual({ sent: 3 });
  });

  it('is given up when the process must stop at once, and its run lapses', async () => {
    const database = await fresh();
    const ill = sick(database);
    await enqueue(database);
    const handle = async () => {
      ill.refuse(new Error('the database is away'), 1000);
      return sent;
    };
    const { runs, seen, of } = await running(ill, sending({ handle }));
    await seen('away');
    await runs.stop(0);
    expect(of('dropped')).toHaveLength(1);
    expect(await counts(database)).toEqual({ processing: 1 });
  });

  it('is replaced by a plainer one where it cannot be stored, and the others land', async () => {
    const database = await fresh();
    const [bad] = await enqueue(database, 100);
    const work = sending({
      handle: async ({ id }) => ({
        event: 'sent',
        fields: { receipt: { response: id === bad ? 'a\u0000' : 'ok' } },
      }),
      plainer: () => sent,
    });
    const { seen, of } = await running(database, work, { pace: { concurrency: 100 } });
    await seen('ended', 101);
    expect(of('ended').filter(({ outcome }) => outcome === 'invalid')).toMatchObject([
      { run: bad, event: 'sent' },
    ]);
    expect(await counts(database)).toEqual({ sent: 100 });
  });

  it('is taken for a throw where there is no plainer one, and not tried for ever', async () => {
    const database = await fresh();
    const [mended = '', hopeless = ''] = await enqueue(database, 2);
    const bad = { event: 'sent', fields: { receipt: 'a\u0000' } } as const;
    const fail = (error: string) =>
      ({ event: 'fail', fields: { retryable: false, error } }) as const;
    const works = (name: string, where: object, error: string): Work<typeof outbox> =>
      sending({ name, where, handle: async () => bad, onThrow: () => fail(error) });
    const first = works('mended', { id: mended }, 'it was bad');
    const second = works('hopeless', { id: hopeless }, 'b\u0000');
    const { until, of } = await running(database, first, { works: [first, second] });
    await until(() => of('ended').length === 5);
    expect(await counts(database)).toEqual({ failed: 1, processing: 1 });
  });

  it('does not wait for another one whose run somebody locks', async () => {
    const limits = { lockMs: 200, statementMs: 5000, idleMs: 10_000, transactionMs: 20_000 };
    const database = await fresh({ limits });
    const ids = await enqueue(database, 8);
    const [locked = ''] = ids;
    const stage = gate();
    const all = signal();
    let begun = 0;
    const handle = async () => {
      begun += 1;
      if (begun === ids.length) all.give();
      await stage.pass();
      return sent;
    };
    const { until, of, seen } = await running(database, sending({ handle }));
    await all.given;
    const unlock = signal();
    const holding = transaction(database, async (tx) => {
      await sql`select from fencepost.delivery where id = ${locked}::uuid for update`.execute(tx);
      stage.open();
      await unlock.given;
    });
    await until(() => of('ended').length === ids.length - 1);
    expect(of('ended').map(({ run }) => run)).not.toContain(locked);
    unlock.give();
    await holding;
    await seen('ended', ids.length);
    expect(await counts(database)).toEqual({ sent: 8 });
  });

  it('brings what is beside it into its transaction, once for each key', async () => {
    const database = await fresh();
    await enqueue(database, 6);
    const written: string[] = [];
    let made = 0;
    const handle = async () => {
      made += 1;
      const key = made % 2 === 0 ? 'even' : 'odd';
      const write = async () => written.push(key);
      return { ...sent, beside: { key, write } };
    };
    const { seen } = await running(database, sending({ handle }));
    await seen('ended', 6);
    expect(written).toEqual(['even', 'odd']);
  });

  it('is written without what is beside it, where the database refuses that', async () => {
    const database = await fresh();
    const [id] = await enqueue(database, 3);
    const broken = {
      key: 'broken',
      write: (tx: Parameters<Parameters<typeof transaction>[1]>[0]) =>
        sql`select 1 / 0`.execute(tx),
    };
    const work = sending({
      handle: async (run) => (run.id === id ? { ...sent, beside: broken } : sent),
    });
    const { seen } = await running(database, work);
    await seen('ended', 3);
    expect(await counts(database)).toEqual({ sent: 3 });
  });
});

describe('a lost database', () => {
  const short = { leaseMs: 4000, heartbeatMs: 1000, timeoutMs: 3000, pollMs: 100 };

  it('keeps nothing from being done: all connections are ended in the middle of it', async () => {
    const database = await freshFor(60_000);
    await enqueue(database, 2000);
    const pace = { concurrency: 20, batch: 50, pollMs: 100 };
    const { until, of, seen } = await running(database, sending(), { pace });
    for (const ended of [200, 700, 1200]) {
      await until(() => of('ended').length > ended);
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`.execute(database.db);
    }
    await until(() => of('ended').filter(({ outcome }) => outcome === 'applied').length >= 1900);
    await seen('waiting');
    await until(() => of('waiting').length > 2);
    const left = await counts(database);
    expect(left['sent']).toBeGreaterThanOrEqual(1900);
    expect(left['failed'] ?? 0).toBe(0);
    expect(left['pending'] ?? 0).toBe(0);
  });

  it('that says nothing is taken for away, and work goes on when it speaks again', async () => {
    const direct = await freshFor(short.leaseMs);
    const proxy = await openProxy(direct.url);
    onTestFinished(proxy.close);
    const database = await openDatabase({ url: proxy.url, limits: direct.limits });
    onTestFinished(database.close);
    const { seen, until, of } = await running(database, sending(), { pace: short });
    await seen('waiting');
    proxy.hold();
    await seen('away');
    await enqueue(direct, 10);
    proxy.cut();
    proxy.release();
    await until(() => of('ended').filter(({ outcome }) => outcome === 'applied').length === 10);
    expect(of('resumed').length).toBeGreaterThan(0);
  });

  it('that nobody can listen to is polled', async () => {
    const database = await fresh();
    const { seen } = await running({ ...database, behindPooler: true }, sending(), {
      pace: { pollMs: 20 },
    });
    await seen('waiting', 2);
    await enqueue(database);
    await seen('ended');
  });
});
