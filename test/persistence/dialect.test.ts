// How statements reach Postgres and values come back, whatever the role, the database or a pooler
// in between have been set to.

import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Database } from '../../persistence/database.ts';
import { send } from '../../persistence/door.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, enqueue, enqueueIn, statusOf } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { pooled } from '../support/pooled.ts';
import { openProxy } from '../support/proxy.ts';

const database = useOpened();

async function prepared(db: Database['db'] | Tx) {
  const { rows } = await sql<{ name: string; plans: number }>`
    select name, generic_plans + custom_plans as plans from pg_prepared_statements
    order by name`.execute(db);
  return rows.map(({ name, plans }) => [name.replace(/\.[0-9a-f]{12}$/, ''), plans]);
}

/** Sets something for the file's database until the test has finished. */
async function setting(name: string, value: string): Promise<void> {
  const own = new URL(database().url).pathname.slice(1);
  const alter = (what: string) => sql.raw(`alter database "${own}" ${what}`).execute(database().db);
  await alter(`set ${name} = '${value}'`);
  onTestFinished(async () => {
    await alter(`reset ${name}`);
  });
}

/** The address of the file's database for a role that has something set. */
async function asRoleWith(name: string, value: string): Promise<string> {
  const role = `role_${randomBytes(6).toString('hex')}`;
  const run = (text: string) => sql.raw(text).execute(database().db);
  await run(`create role ${role} login superuser password 'secret'`);
  await run(`alter role ${role} set ${name} = '${value}'`);
  onTestFinished(async () => {
    await run(`drop role ${role}`);
  });
  const url = new URL(database().url);
  url.username = role;
  url.password = 'secret';
  return url.href;
}

describe('statements of the kernel', () => {
  it('are named, and prepared once a connection; others are not named', async () => {
    const single = await opened({ url: database().url, connections: 1 });
    for (let i = 0; i < 7; i += 1) {
      const { id, attempts: fence } = await claimedOne(single);
      await transaction(single, (tx) => send(tx, outbox, 'sent', { id, fence }));
      await sql`select ${i}::int4`.execute(single.db);
    }
    expect(await prepared(single.db)).toEqual([
      ['outbox.claim.claim', 7],
      ['outbox.create', 7],
      ['outbox.sent.ids', 7],
    ]);
  });

  it('are not named behind a pooler', async () => {
    const single = pooled({ url: database().url, connections: 1, behindPooler: true });
    const { id, attempts: fence } = await claimedOne(single);
    const sent = await transaction(single, (tx) => send(tx, outbox, 'sent', { id, fence }));
    expect(sent.outcome).toBe('applied');
    expect(await prepared(single.db)).toEqual([]);
  });

  it('leave a transaction usable when they fail, with its other work intact', async () => {
    const { id, attempts: fence } = await claimedOne(database());
    const refuse = sql`alter table fencepost.delivery
      add constraint refused check (receipt is null or receipt->>'ok' <> 'false') not valid`;
    await refuse.execute(database().db);
    const born = await transaction(database(), async (tx) => {
      const [before = ''] = await enqueueIn(tx);
      const bad = await send(tx, outbox, 'sent', { id, fence, receipt: { ok: false } });
      expect(bad).toMatchObject({ outcome: 'invalid', where: 'refused' });
      const good = await send(tx, outbox, 'sent', { id, fence, receipt: { ok: true } });
      expect(good.outcome).toBe('applied');
      return [before, ...(await enqueueIn(tx))];
    });
    const statuses = await Promise.all([id, ...born].map((each) => statusOf(database(), each)));
    expect(statuses).toEqual(['sent', 'pending', 'pending']);
  });
});

describe('any other statement', () => {
  it('goes by the extended protocol, also without parameters', async () => {
    const two = sql.raw('select 1; select 2').execute(database().db);
    await expect(two).rejects.toMatchObject({ code: '42601' });
  });

  it('reads counts, versions and sums of them as numbers', async () => {
    const { rows } = await sql`select count(*) as count, 9007199254740991::int8 as largest,
      sum(n::int4) as sum from generate_series(1, 3) n`.execute(database().db);
    expect(rows).toEqual([{ count: 3, largest: 9007199254740991, sum: 6 }]);
  });

  it('says how many rows it changed', async () => {
    const [id = ''] = await enqueue(database());
    const changed = await database()
      .db.deleteFrom('fencepost.quarantine')
      .where('run', '=', id)
      .executeTakeFirst();
    expect(changed.numDeletedRows).toBe(0n);
  });

  it('cannot be streamed', async () => {
    const stream = database().db.selectFrom('fencepost.delivery').select('id').stream();
    await expect(stream.next()).rejects.toThrow('streaming is not offered');
  });
});

it('instants are the same microseconds in every time zone of the session', async () => {
  await setting('timezone', 'Asia/Kathmandu');
  const nepali = await opened({ url: database().url, connections: 1 });
  const at = Date.UTC(2024, 1, 29, 12, 30, 45) * 1000 + 123_456;
  await enqueue(nepali, 1, { channel: 'nepal', next_attempt_at: at, give_up_at: at + 1 });
  const read = async ({ db }: Database) =>
    db
      .selectFrom('fencepost.delivery')
      .select(['next_attempt_at', 'give_up_at'])
      .where('channel', '=', 'nepal')
      .execute();
  const { rows } = await sql`show timezone`.execute(nepali.db);
  expect(rows).toEqual([{ TimeZone: 'Asia/Kathmandu' }]);
  expect(await read(nepali)).toEqual([{ next_attempt_at: at, give_up_at: at + 1 }]);
  expect(await read(database())).toEqual(await read(nepali));
  const [run] = await claimed(nepali, 100);
  expect(run?.lease_expires_at).toBeGreaterThan(at);
});

describe('a server that cannot be used', () => {
  it('is one whose role prints dates in another style', async () => {
    const url = await asRoleWith('datestyle', 'German');
    await expect(opened({ url })).rejects.toMatchObject({ code: 'date_style' });
  });

  it('is one that answers before a commit is safe', async () => {
    await setting('synchronous_commit', 'off');
    const refused = opened({ url: database().url });
    await expect(refused).rejects.toMatchObject({ code: 'synchronous_commit_off' });
  });

  it('is one before Postgres 15', async () => {
    class Old extends pg.Client {
      override query(...args: unknown[]): never {
        const answer = Reflect.apply(super.query, this, args) as Promise<pg.QueryResult>;
        return answer.then((result) => {
          if (result.rows[0]) result.rows[0].version = 140_012;
          return result;
        }) as never;
      }
    }
    const refused = opened({ url: database().url, clientClass: Old });
    await expect(refused).rejects.toMatchObject({ code: 'server_too_old' });
  });

  it('is one that is not there', async () => {
    const nowhere = new URL(database().url);
    nowhere.port = '1';
    await expect(opened({ url: nowhere.href })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('a pooler', () => {
  it('is noticed by the backend that answers, which is not the one that was promised', async () => {
    const proxy = await openProxy(database().url, { processId: 1 });
    onTestFinished(() => proxy.close());
    const remote = await opened({ url: proxy.url, connections: 1 });
    expect([remote.behindPooler, database().behindPooler]).toEqual([true, false]);
    await claimedOne(remote);
    expect(await prepared(remote.db)).toEqual([]);
  });

  it('is not seen in a connection that only goes through somebody else', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const remote = await opened({ url: proxy.url, connections: 1 });
    expect(remote.behindPooler).toBe(false);
  });
});
