import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { outbox } from '../../../machines/outbox.ts';
import { CallError } from '../../../persistence/door.ts';
import type { RunContext } from '../../../services/runs/work.ts';
import { StopError } from '../../../services/runs/work.ts';
import { enqueue, letter } from '../../support/deliveries.ts';
import { gate } from '../../support/mail-sink.ts';
import { fresh } from '../../support/opened.ts';
import { freshFor, running, sending } from '../../support/runs.ts';
import { signal } from '../../support/signal.ts';

const counts = async (database: Awaited<ReturnType<typeof fresh>>) => {
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*) from fencepost.delivery group by 1 order by 1`.execute(database.db);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
};

const sent = { event: 'sent', fields: { receipt: null } } as const;

describe('a worker', () => {
  it('takes up what was there, and is woken by what comes', async () => {
    const database = await fresh();
    await enqueue(database, 3);
    const { seen, of } = await running(database, sending());
    await seen('ended', 3);
    await seen('waiting');
    await enqueue(database, 2);
    await seen('ended', 5);
    expect(await counts(database)).toEqual({ sent: 5 });
    expect(new Set(of('ended').map(({ event, outcome }) => `${event} ${outcome}`))).toEqual(
      new Set(['sent applied']),
    );
  });

  it('handles no more at once than its slots, and fills a slot that became free', async () => {
    const database = await fresh();
    await enqueue(database, 200);
    let atOnce = 0;
    let most = 0;
    const handle = async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise(setImmediate);
      atOnce -= 1;
      return sent;
    };
    const { seen } = await running(database, sending({ handle }), { pace: { concurrency: 3 } });
    await seen('ended', 200);
    expect(most).toBe(3);
  });

  it('claims ahead no more than its batch, and more only while runs end', async () => {
    const database = await fresh();
    await enqueue(database, 100);
    const stage = gate();
    const handle = async () => {
      await stage.pass();
      return sent;
    };
    const pace = { concurrency: 4, batch: 10 };
    const { seen, of } = await running(database, sending({ handle }), { pace });
    await seen('started', 4);
    expect(await counts(database)).toEqual({ pending: 96, processing: 4 });
    stage.open();
    await seen('ended', 100);
    expect(Math.max(...of('claimed').map(({ count }) => count))).toBeLessThanOrEqual(14);
  });

  it('ends a run whose handler is done before its claim is told of', async () => {
    const database = await fresh();
    await enqueue(database);
    const { events, seen } = await running(database, sending());
    await seen('ended');
    const order = events.map(({ type }) => type).filter((type) => type !== 'waiting');
    expect(order).toEqual(['claimed', 'started', 'handled', 'ended']);
  });

  it('takes a throw of its handler for that run alone', async () => {
    const database = await fresh();
    const [broken] = await enqueue(database);
    await enqueue(database, 5);
    const { seen } = await running(
      database,
      sending({
        handle: async ({ id }) => {
          if (id === broken) throw undefined;
          return sent;
        },
      }),
    );
    await seen('ended', 6);
    expect(await counts(database)).toEqual({ pending: 1, sent: 5 });
  });

  it('claims nothing for as long as its work says', async () => {
    const database = await fresh();
    await enqueue(database);
    let asked = 0;
    const notBefore = async () => {
      asked += 1;
      return asked === 1 ? 10 : 0;
    };
    const { seen, events } = await running(database, sending({ notBefore }));
    await seen('ended');
    expect(events[0]).toMatchObject({ type: 'paused', ms: 10 });
    expect(asked).toBe(2);
  });

  it('is started again when a call of it can never be right', async () => {
    const database = await fresh();
    await enqueue(database);
    let asked = 0;
    const notBefore = async () => {
      asked += 1;
      if (asked < 3) throw new CallError('bad_limit', 'a mistake');
      return 0;
    };
    const { seen, of } = await running(database, sending({ notBefore }));
    await seen('ended');
    expect(of('failed')).toMatchObject([{ by: 'email' }, { by: 'email' }]);
    expect(of('away')).toEqual([]);
  });

  it('goes on after a claim that failed, and keeps its slots', async () => {
    const database = await fresh();
    await enqueue(database, 20);
    let asked = 0;
    const notBefore = async () => {
      asked += 1;
      if (asked === 2) throw new Error('the database went away');
      return 0;
    };
    const pace = { concurrency: 1, batch: 1 };
    const { seen, of } = await running(database, sending({ notBefore }), { pace });
    await seen('ended', 20);
    expect(of('away')).toMatchObject([{ by: 'email', failures: 1 }]);
    expect(of('resumed')).toHaveLength(1);
  });
});

describe('a worker that stops', () => {
  it('lets what runs end, gives back the rest at once, and claims nothing more', async () => {
    const database = await fresh();
    await enqueue(database, 30);
    const stage = gate();
    let begun = 0;
    const handle = async () => {
      begun += 1;
      if (begun > 10) await stage.pass();
      return sent;
    };
    // Ten quick ones make it claim ahead of its two slots.
    const pace = { concurrency: 2, batch: 10 };
    const { runs, seen, of } = await running(database, sending({ handle }), { pace });
    await seen('started', 12);
    await seen('ended', 10);
    const claimed = of('claimed').length;
    const stopped = runs.stop(60_000);
    await enqueue(database, 5);
    const held = () => of('claimed').reduce((sum, { count }) => sum + count, 0);
    await seen('ended', held() - 2);
    stage.open();
    await stopped;
    expect(of('started')).toHaveLength(12);
    expect(of('ended').filter(({ event }) => event === 'release')).toHaveLength(held() - 12);
    // One may have been under way; what it brought was given back.
    expect(of('claimed').length).toBeLessThanOrEqual(claimed + 1);
    expect(await counts(database)).toEqual({ pending: 23, sent: 12 });
  });

  it('gives back what a claim brings that was under way', async () => {
    const database = await fresh();
    await enqueue(database, 3);
    const asked = signal();
    const answer = signal<number>();
    const notBefore = async () => {
      asked.give();
      return await answer.given;
    };
    const { runs, of } = await running(database, sending({ notBefore }));
    await asked.given;
    const stopped = runs.stop(60_000);
    answer.give(0);
    await stopped;
    expect(of('claimed')).toEqual([]);
    expect(await counts(database)).toEqual({ pending: 3 });
  });

  it('aborts what runs after the grace, and says why', async () => {
    const database = await fresh();
    await enqueue(database);
    const stage = gate();
    let reason: unknown;
    const handle = async (_run: unknown, { signal }: RunContext) => {
      void stage.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      reason = signal.reason;
      return { event: 'release' } as const;
    };
    const { runs } = await running(database, sending({ handle }));
    await stage.arrived;
    await runs.stop(1);
    expect(reason).toBeInstanceOf(StopError);
    expect(await counts(database)).toEqual({ pending: 1 });
  });

  it('is hurried in the middle of its grace', async () => {
    const database = await fresh();
    await enqueue(database);
    const stage = gate();
    const handle = async (_run: unknown, { signal }: RunContext) => {
      void stage.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { event: 'release' } as const;
    };
    const { runs, seen } = await running(database, sending({ handle }));
    await stage.arrived;
    const stopped = runs.stop(3_600_000);
    await seen('draining');
    runs.hurry();
    await stopped;
    expect(await counts(database)).toEqual({ pending: 1 });
  });

  it('lets go of a handler that does not hear its abort', async () => {
    const database = await fresh();
    await enqueue(database);
    const handle = () => new Promise<typeof sent>(() => undefined);
    const { runs, seen, lines } = await running(database, sending({ handle }), { lastMs: 1 });
    await seen('started');
    await runs.stop(0);
    expect(await counts(database)).toEqual({ processing: 1 });
    expect(lines.map(({ msg }) => msg)).toContain('runs did not end after their abort, they lapse');
  });

  it('stops while the database does not answer', async () => {
    const database = await freshFor(60_000);
    const notBefore = async () => {
      throw new Error('away');
    };
    const { runs, seen } = await running(database, sending({ notBefore }));
    await seen('away');
    await runs.stop(60_000);
  });

  it('leaves no connection and no timer behind, however often it is started', async () => {
    const database = await fresh();
    for (let i = 0; i < 20; i += 1) {
      const { runs, seen } = await running(database, sending());
      await seen('waiting');
      await runs.stop(0);
    }
    const { rows } = await sql<{ count: number }>`select count(*) from pg_stat_activity
      where datname = current_database() and application_name = 'fencepost'`.execute(database.db);
    expect(rows[0]?.count).toBeLessThanOrEqual(10);
  });
});

describe('two workers of one machine', () => {
  it('take up their own, and both are woken', async () => {
    const database = await fresh();
    const names = ['email', 'webhook'];
    const works = names.map((name) => sending({ name, where: { channel: name } }));
    const [work] = works;
    if (!work) throw new Error('there are two');
    const { until, of, events } = await running<typeof outbox>(database, work, { works });
    await until(() => of('waiting').length === 2);
    await enqueue(database, 2, letter({ channel: 'webhook' }));
    await enqueue(database, 2, letter({ channel: 'email' }));
    await until(() => of('ended').length === 4);
    const by = of('ended').map((event) => event.by);
    expect(by.toSorted()).toEqual(['email', 'email', 'webhook', 'webhook']);
    expect(events.filter(({ type }) => type === 'failed')).toEqual([]);
  });
});
