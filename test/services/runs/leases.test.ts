// What keeps a run with its owner, and what takes it away. Where a test needs a lease to be over it
// makes the row older; only the tests about the heartbeat let one run.

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { claim, sweep } from '../../../persistence/claims.ts';
import type { Database } from '../../../persistence/database.ts';
import { transaction } from '../../../persistence/transaction.ts';
import type { RunContext } from '../../../services/runs/work.ts';
import { startChild } from '../../support/child.ts';
import { enqueue, force } from '../../support/deliveries.ts';
import { gate } from '../../support/mail-sink.ts';
import { connected, fresh } from '../../support/opened.ts';
import { freshFor, running, sending } from '../../support/runs.ts';

const sent = { event: 'sent', fields: { receipt: null } } as const;
const older = `lease_expires_at = now() - interval '1 second'`;

async function read({ db }: Database, id: string) {
  return await db
    .selectFrom('fencepost.delivery')
    .select(['status', 'attempts', 'failures', 'lease_losses', 'lease_owner'])
    .where('id', '=', id)
    .executeTakeFirst();
}

const lapse = (database: Database) =>
  transaction(database, (tx) => sweep(tx, outbox, 'lease.expired', { limit: 100 }));

/**
 * Another owner has the run, as after a lapse and a claim. In one statement: between two a
 * heartbeat might renew the lease, or this worker claim the run itself.
 */
const takeAway = (database: Database, id: string): Promise<void> =>
  force(
    database,
    id,
    `attempts = attempts + 1, lease_losses = lease_losses + 1, seq = seq + 2,
      lease_owner = 'another', lease_expires_at = now() + interval '1 hour'`,
  );

const one = async (database: Database): Promise<string> => (await enqueue(database))[0] ?? '';

describe('a heartbeat', () => {
  it('keeps a run beyond its lease, also in a drain, and changes no fence', async () => {
    const leaseMs = 2000;
    const database = await freshFor(leaseMs);
    const id = await one(database);
    const stage = gate();
    let context: RunContext | undefined;
    const handle = async (_run: unknown, given: RunContext) => {
      context = given;
      await stage.pass();
      return sent;
    };
    const pace = { leaseMs, heartbeatMs: 250, timeoutMs: 1500 };
    const { runs, seen, until, of } = await running(database, sending({ handle }), { pace });
    await seen('started');
    const stopped = runs.stop(3_600_000);
    await until(() => {
      // It says itself that it goes on, so that its time limit does not end it.
      context?.extend(performance.now());
      return of('renewed').length > (leaseMs / 250) * 1.5;
    });
    expect(await lapse(database)).toEqual([]);
    stage.open();
    await stopped;
    expect(context?.signal.aborted).toBe(false);
    expect(of('ended')).toMatchObject([{ event: 'sent', outcome: 'applied' }]);
    expect(await read(database, id)).toMatchObject({ status: 'sent', attempts: 1 });
  });

  it('covers runs that wait for a slot', async () => {
    const database = await freshFor(2000);
    await enqueue(database, 12);
    const stage = gate();
    let begun = 0;
    const handle = async (_run: unknown, { extend }: RunContext) => {
      begun += 1;
      if (begun <= 5) return sent;
      await Promise.race([stage.pass(), seen('renewed', 8)]);
      extend(performance.now());
      await stage.pass();
      return sent;
    };
    const slots = { concurrency: 1, batch: 10 };
    // What came with less than the time limit left would be given back instead of begun.
    const pace = { leaseMs: 2000, heartbeatMs: 100, timeoutMs: 1500, ...slots };
    const { seen, of } = await running(database, sending({ handle }), { pace });
    await stage.arrived;
    await seen('renewed', 15);
    expect(of('renewed').at(-1)?.count).toBeGreaterThan(1);
    expect(await lapse(database)).toEqual([]);
    stage.open();
    await seen('ended', 12);
    expect(of('ended').every(({ outcome }) => outcome === 'applied')).toBe(true);
  });

  it('aborts the handler of a run that another owner has, whose word is refused', async () => {
    const database = await freshFor(60_000);
    const id = await one(database);
    const stage = gate();
    const handle = async (_run: unknown, { signal }: RunContext) => {
      void stage.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return sent;
    };
    const pace = { heartbeatMs: 50 };
    const { seen, of, lines } = await running(database, sending({ handle }), { pace });
    await stage.arrived;
    await takeAway(database, id);
    await seen('ended');
    expect(of('ended')).toMatchObject([{ event: 'sent', outcome: 'lost' }]);
    expect(of('lost').map(({ event }) => event)).toEqual(['renewal', 'sent']);
    expect(await read(database, id)).toMatchObject({
      status: 'processing',
      lease_owner: 'another',
    });
    expect(lines.filter(({ msg }) => msg === 'too late, changed nothing')).toHaveLength(1);
  });

  it('does not begin a run that was lost while it waited', async () => {
    const database = await freshFor(60_000);
    await enqueue(database, 20);
    const stage = gate();
    const begun: string[] = [];
    const handle = async ({ id }: { readonly id: string }) => {
      begun.push(id);
      if (begun.length > 5) await stage.pass();
      return sent;
    };
    const pace = { heartbeatMs: 50, concurrency: 1, batch: 10 };
    const { seen, until, of } = await running(database, sending({ handle }), { pace });
    await stage.arrived;
    await until(() => of('claimed').reduce((sum, { count }) => sum + count, 0) > 6);
    await seen('ended', 5);
    const { rows } = await sql<{ id: string }>`select id from fencepost.delivery
      where status = 'processing'`.execute(database.db);
    const waiting = rows.map(({ id }) => id).find((id) => !begun.includes(id)) ?? '';
    await takeAway(database, waiting);
    await until(() => of('lost').some(({ run }) => run === waiting));
    stage.open();
    await seen('ended', 19);
    expect(begun).not.toContain(waiting);
  });

  it('ends for a run past its time limit, whose late word is then lost', async () => {
    const database = await freshFor(60_000);
    const id = await one(database);
    const stage = gate();
    let aborted = false;
    const handle = async (_run: unknown, { signal }: RunContext) => {
      signal.addEventListener('abort', () => {
        aborted = true;
        observe({ type: 'resumed', machine: 'test', by: 'the abort' });
      });
      await stage.pass();
      return sent;
    };
    const pace = { heartbeatMs: 20, timeoutMs: 100 };
    const { seen, of, observe } = await running(database, sending({ handle }), { pace });
    await seen('resumed');
    const before = of('renewed').length;
    await takeAway(database, id);
    stage.open();
    await seen('ended');
    expect(aborted).toBe(true);
    // One may have been under way when the limit passed.
    expect(of('renewed').length).toBeLessThanOrEqual(before + 1);
    expect(of('ended')).toMatchObject([{ event: 'sent', outcome: 'lost' }]);
  });
});

describe('a process that stood still', () => {
  it('is refused when its runs were given to others, with one line and no crash', async () => {
    const leaseMs = 1000;
    const database = await freshFor(leaseMs);
    const [id = '', other = ''] = await enqueue(database, 2);
    const beside = await connected(new pg.Client({ connectionString: database.url }));
    let sweeping: Promise<unknown> | undefined;
    const handle = async () => {
      // The server takes the runs away while this process hears nothing.
      sweeping ??= beside.query(`update fencepost.delivery
        set status = 'pending', seq = seq + 1, event = 'lease.expired', actor = 'sweep',
          lease_losses = lease_losses + 1, lease_owner = null,
          lease_expires_at = null, next_attempt_at = now() + interval '1 hour'
        where status = 'processing'`);
      await new Promise(setImmediate);
      const until = performance.now() + leaseMs * 0.75;
      while (performance.now() < until);
      return sent;
    };
    const pace = { leaseMs, heartbeatMs: 400, timeoutMs: 600 };
    const { seen, of, lines } = await running(database, sending({ handle }), { pace });
    await seen('ended', 2);
    await sweeping;
    expect(of('ended').map(({ outcome }) => outcome)).toEqual(['lost', 'lost']);
    expect(lines.filter(({ msg }) => msg === 'too late, changed nothing')).toMatchObject([
      { count: 2, lostWrites: 2 },
    ]);
    for (const run of [id, other]) {
      expect(await read(database, run)).toMatchObject({ status: 'pending', lease_losses: 1 });
    }
  });
});

describe('a worker that is killed', () => {
  const child = (database: Database, leaseMs: number) =>
    startChild(`${import.meta.dirname}/worker.child.ts`, [database.url, String(leaseMs)]);

  it('costs a run its lease and nothing else, three times in a row', async () => {
    const database = await fresh();
    const id = await one(database);
    for (let kills = 1; kills <= 3; kills += 1) {
      const victim = child(database, 60_000);
      expect(await victim.line()).toBe(`started ${id}`);
      victim.process.kill('SIGKILL');
      await victim.exit;
      await force(database, id, older);
      expect(await lapse(database)).toHaveLength(1);
      await force(database, id, 'next_attempt_at = now()');
    }
    expect(await read(database, id)).toMatchObject({
      ...{ status: 'pending', attempts: 3, lease_losses: 3, failures: 0 },
    });
    const { seen } = await running(database, sending());
    await seen('ended');
    expect(await read(database, id)).toMatchObject({ status: 'sent', attempts: 4, failures: 0 });
  });

  it('leaves nothing that another process does not end, by lease and reaper alone', async () => {
    const database = await freshFor(3000);
    const ids = await enqueue(database, 60);
    const victim = child(database, 3000);
    await victim.line();
    victim.process.kill('SIGKILL');
    await victim.exit;
    const pace = { leaseMs: 3000, heartbeatMs: 1000, timeoutMs: 2000, pollMs: 100 };
    const { until, of } = await running(database, sending(), { pace, reapMs: 100 });
    await until(() => of('ended').length === ids.length);
    expect(of('lapsed').reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(0);
    const { rows } = await sql`select status, count(*), max(failures) as failures
      from fencepost.delivery group by 1`.execute(database.db);
    expect(rows).toEqual([{ status: 'sent', count: 60, failures: 0 }]);
  });

  it('is no reason to keep a run from a successor of the same name', async () => {
    const database = await fresh();
    const id = await one(database);
    const options = { limit: 1, owner: 'host:1:always the same', lease_ms: 60_000 };
    await transaction(database, (tx) => claim(tx, outbox, 'claim', options));
    await force(database, id, older);
    const claimFields = ({ leaseMs }: { readonly leaseMs: number }) => ({
      owner: options.owner,
      lease_ms: leaseMs,
    });
    const { seen } = await running(database, sending({ claimFields }), {
      pace: { pollMs: 50 },
      reapMs: 50,
    });
    await seen('lapsed');
    await force(database, id, 'next_attempt_at = now()');
    await seen('ended');
    expect(await read(database, id)).toMatchObject({ status: 'sent', attempts: 2 });
  });
});
