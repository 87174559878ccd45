// Processes that start: many at once, beside one that died in the middle, while others work, before
// the database is there.

import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { machines } from '../../machines/all.ts';
import { outbox } from '../../machines/outbox.ts';
import type { Database } from '../../persistence/database.ts';
import { installMachines } from '../../persistence/definitions.ts';
import { send } from '../../persistence/door.ts';
import { keepPartitions } from '../../persistence/journal.ts';
import { maintain } from '../../persistence/maintenance.ts';
import { migrate } from '../../persistence/migrate.ts';
import { transaction } from '../../persistence/transaction.ts';
import { startChild } from '../support/child.ts';
import { claimIn, enqueue } from '../support/deliveries.ts';
import { fresh, opened } from '../support/opened.ts';
import { choosy } from '../support/outbox-variants.ts';
import { openProxy } from '../support/proxy.ts';

const file = join(import.meta.dirname, 'start.child.ts');

interface Started {
  readonly migrations: readonly string[];
  readonly changes: readonly string[];
  readonly partitions: readonly string[];
}

async function migrated({ db }: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from fencepost.migration order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

/** A database with nothing in it, and the migrations that it lacks. */
async function emptied() {
  const database = await fresh();
  const missing = await migrated(database);
  await sql`drop schema fencepost cascade`.execute(database.db);
  expect(missing.length).toBeGreaterThan(1);
  return { database, missing };
}

async function deadlocks({ db }: Database): Promise<number> {
  const { rows } = await sql<{ deadlocks: number }>`select deadlocks from pg_stat_database
    where datname = current_database()`.execute(db);
  return rows[0]?.deadlocks ?? -1;
}

describe('an empty database', () => {
  it('is brought up by one of ten processes that start at once, and serves all', async () => {
    const { database, missing } = await emptied();
    const children = Array.from({ length: 10 }, () => startChild(file, [database.url]));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.process.stdin?.write('go\n');
    const started = await Promise.all(
      children.map(async (child) => JSON.parse(await child.line()) as Started),
    );
    for (const child of children) expect(await child.exit).toMatchObject({ code: 0 });
    expect(started.flatMap(({ migrations }) => migrations)).toEqual(missing);
    expect(started.flatMap(({ changes }) => changes).toSorted()).toEqual([
      ...machines.map(() => 'installed'),
      ...Array.from({ length: 9 * machines.length }, () => 'unchanged'),
    ]);
    const partitions = started.flatMap((each) => each.partitions);
    expect([partitions.length, new Set(partitions).size]).toEqual([3, 3]);
    expect(await deadlocks(database)).toBe(0);
    expect(await migrated(database)).toEqual(missing);
    expect((await enqueue(database, 1)).length).toBe(1);
  });

  it('is brought up whole or not at all', async () => {
    const { database, missing } = await emptied();
    await sql`create schema fencepost`.execute(database.db);
    // A table of a later migration is in the way.
    await sql`create table fencepost.mailbox (n int)`.execute(database.db);
    await expect(migrate(database)).rejects.toMatchObject({ code: '42P07' });
    const { rows } = await sql`select relname from pg_class
      where relnamespace = 'fencepost'::regnamespace`.execute(database.db);
    expect(rows).toEqual([{ relname: 'mailbox' }]);
    await sql`drop table fencepost.mailbox`.execute(database.db);
    expect(await migrate(database)).toEqual(missing);
    expect(await migrate(database)).toEqual([]);
  });

  it('suits a process of an older version too, which knows fewer migrations', async () => {
    const database = await fresh();
    await sql`insert into fencepost.migration (name) values ('9999-newer')`.execute(database.db);
    expect(await migrate(database)).toEqual([]);
    const [installed] = await installMachines(database, machines);
    expect(installed?.change).toBe('unchanged');
  });
});

describe('schema work', () => {
  it('goes on at once after a process was killed in the middle of it', async () => {
    const database = await fresh();
    const child = startChild(file, [database.url, 'dies']);
    expect(await child.line()).toBe('ready');
    child.process.stdin?.write('go\n');
    expect(await child.line()).toBe('working');
    // These wait for the lock that the child holds.
    const next = [migrate(database), installMachines(database, machines), keepPartitions(database)];
    child.process.kill('SIGKILL');
    expect(await Promise.all(next)).toHaveLength(3);
    const { rows } = await sql`select to_regclass('fencepost.half_done') as half`.execute(
      database.db,
    );
    expect(rows).toEqual([{ half: null }]);
  });

  it('that fails frees the lock at once', async () => {
    const database = await fresh({ connections: 1 });
    const failing = maintain(database, (tx) => sql`select 1 / 0`.execute(tx));
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    expect(await migrate(database)).toEqual([]);
    const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`.execute(
      database.db,
    );
    expect(rows).toEqual([]);
  });

  it('does not stop those who work, nor they it', async () => {
    const database = await fresh({ connections: 6 });
    let isOver = false;
    const worker = async () => {
      let sent = 0;
      while (!isOver) {
        await enqueue(database, 5);
        const outcomes = await transaction(database, async (tx) => {
          const runs = await claimIn(tx, 5);
          const each = runs.map(({ id, attempts: fence }) =>
            send(tx, outbox, 'sent', { id, fence }),
          );
          return await Promise.all(each);
        });
        expect(outcomes.every(({ outcome }) => outcome === 'applied')).toBe(true);
        sent += outcomes.length;
      }
      return sent;
    };
    const workers = Promise.all([worker(), worker(), worker()]);
    for (let i = 0; i < 10; i += 1) {
      await installMachines(database, [i % 2 ? outbox : choosy]);
      await migrate(database);
      await keepPartitions(database, i);
    }
    isOver = true;
    expect((await workers).every((sent) => sent > 0)).toBe(true);
    expect(await deadlocks(database)).toBe(0);
  });
});

it('a start that found no database can be made again', async () => {
  const database = await fresh();
  const proxy = await openProxy(database.url);
  onTestFinished(() => proxy.close());
  proxy.refuse();
  await expect(opened({ url: proxy.url })).rejects.toThrow();
  proxy.release();
  const second = await opened({ url: proxy.url });
  expect(await migrate(second)).toEqual([]);
});
