// Names and search paths that somebody else chose: a path that is empty, a path that leads to other
// tables and functions first, databases and roles whose names would end a quotation.

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { machines } from '../../machines/all.ts';
import { outbox } from '../../machines/outbox.ts';
import { heal, sweep } from '../../persistence/claims.ts';
import { ensureDatabase } from '../../persistence/create-database.ts';
import type { Database } from '../../persistence/database.ts';
import { contractMachine, installMachines } from '../../persistence/definitions.ts';
import { readDelivery } from '../../persistence/deliveries.ts';
import { send } from '../../persistence/door.ts';
import { dropOldPartitions, keepPartitions, readJournal } from '../../persistence/journal.ts';
import { insertMail, listMails } from '../../persistence/mailbox.ts';
import { migrate } from '../../persistence/migrate.ts';
import { runActor } from '../../persistence/run-actor.ts';
import { transaction } from '../../persistence/transaction.ts';
import { openWakeListener } from '../../persistence/wake-listener.ts';
import { claimed, claimedOne, enqueue, force } from '../support/deliveries.ts';
import { connected, fresh, opened } from '../support/opened.ts';

const never = new AbortController().signal;
const year = 365 * 86_400_000;

/** Does once whatever the kernel can do. Returns the journal of the run that went through it. */
async function everything(database: Database) {
  await migrate(database);
  await installMachines(database, machines);
  await contractMachine(database, outbox);
  await keepPartitions(database);
  await dropOldPartitions(database);
  const listener = await openWakeListener(database);
  try {
    await listener.wait('outbox', year, never);
    const woken = listener.wait('outbox', year, never);
    const { id, attempts: fence } = await claimedOne(database);
    await woken;
    const stale = { id, fence: fence + 1 };
    expect(await transaction(database, (tx) => send(tx, outbox, 'sent', stale))).toMatchObject({
      outcome: 'lost',
    });
    await force(database, id, 'lease_expires_at = created_at');
    const limit = { limit: 5 };
    const swept = await transaction(database, (tx) => sweep(tx, outbox, 'lease.expired', limit));
    expect(swept.map((each) => each.id)).toEqual([id]);
    expect(await transaction(database, (tx) => heal(tx, outbox, id))).toBeUndefined();
    await force(database, id, 'next_attempt_at = created_at');
    const [again] = await claimed(database);
    const actor = await runActor(database, outbox, id);
    await actor.send({ type: 'sent', fence: again?.attempts ?? 0, receipt: { ok: true } });
    expect(await readDelivery(database.db, id)).toMatchObject({ status: 'sent', attempts: 2 });
    // Poison: the slow way and the quarantine.
    const [poison = ''] = await enqueue(database);
    await force(database, poison, 'attempts = 2147483647');
    expect(await claimed(database)).toEqual([]);
    const mail = { messageId: '<1@x>', sender: 'a', recipients: ['b'], subject: '', body: '' };
    await insertMail(database.db, { ...mail, raw: '' });
    expect(await listMails(database.db, 5)).toHaveLength(1);
    return (await readJournal(database.db, outbox, id)).map(({ event }) => event);
  } finally {
    await listener.close();
  }
}

const all = ['claim', 'lease.expired', 'claim', 'sent'];

async function setPath(database: Database, path: string): Promise<Database> {
  const name = new URL(database.url).pathname.slice(1);
  await sql.raw(`alter database "${name}" set search_path = ${path}`).execute(database.db);
  const other = await opened({ url: database.url });
  const { rows } = await sql`show search_path`.execute(other.db);
  expect(rows).toEqual([{ search_path: path === "''" ? '""' : path }]);
  return other;
}

const tables = ['delivery', 'journal', 'machine_installed', 'quarantine', 'lost_write', 'mailbox'];

/** A schema with tables and functions of the names that the kernel uses. */
async function makeDecoy({ db }: Database): Promise<void> {
  const lie = (name: string, returns: string) =>
    `create function decoy.${name} returns ${returns} language plpgsql as
      $$ begin raise exception 'the decoy ${name.split('(')[0]} was called'; end $$`;
  const statements = [
    'create schema decoy',
    ...tables.map((table) => `create table decoy.${table} (like fencepost.${table})`),
    lie('clock_timestamp()', 'timestamptz'),
    lie('statement_timestamp()', 'timestamptz'),
    lie('now()', 'timestamptz'),
    lie('random()', 'float8'),
    lie('pg_notify(text, text)', 'void'),
    lie('to_regclass(text)', 'regclass'),
    lie('outbox_guard()', 'trigger'),
    lie('outbox_journal()', 'trigger'),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}

async function decoyRows({ db }: Database): Promise<number> {
  const counts = tables.map((table) => `(select count(*) from decoy.${table})`).join(' + ');
  const { rows } = await sql<{ count: number }>`select ${sql.raw(counts)} as count`.execute(db);
  return rows[0]?.count ?? -1;
}

describe('everything works', () => {
  it('with an empty search path, from the first migration on', async () => {
    const own = await fresh();
    await sql`drop schema fencepost cascade`.execute(own.db);
    expect(await everything(await setPath(own, "''"))).toEqual(all);
  });

  it('with a search path that leads to others of the same names first', async () => {
    const own = await fresh();
    await makeDecoy(own);
    const misled = await setPath(own, 'decoy, public');
    expect(await everything(misled)).toEqual(all);
    expect(await decoyRows(own)).toBe(0);
  });

  it('or is refused at the start, where other functions would be found first', async () => {
    const own = await fresh();
    await makeDecoy(own);
    const misled = setPath(own, 'decoy, pg_catalog');
    await expect(misled).rejects.toMatchObject({ code: 'search_path' });
    const same = await setPath(own, 'pg_catalog, decoy');
    expect(await everything(same)).toEqual(all);
  });
});

describe('a name', () => {
  const names = ["o'brien", 'a"b', 'a$$b', 'a\nb', 'a\\b', 'x.job', '";drop schema fencepost;--'];
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

  const administrator = () => connected(new pg.Client({ connectionString: inject('postgresUrl') }));

  it.each(names)('of a database may be %j', async (name) => {
    const admin = await administrator();
    await ensureDatabase(inject('postgresUrl'), name);
    onTestFinished(async () => {
      await admin.query(`drop database ${quoted(name)}`);
    });
    await ensureDatabase(inject('postgresUrl'), name);
    const url = new URL(inject('postgresUrl'));
    // The driver decodes it by decodeURI, which leaves some marks encoded.
    url.pathname = `/${encodeURI(name)}`;
    const database = await opened({ url: url.href });
    expect(await everything(database)).toEqual(all);
    const { rows } = await sql`select current_database() as name`.execute(database.db);
    expect(rows).toEqual([{ name }]);
  });

  it('of a role may be any, and the journal says it', async () => {
    const own = await fresh();
    for (const name of names) {
      await sql
        .raw(`create role ${quoted(name)} login superuser password 'secret'`)
        .execute(own.db);
      onTestFinished(async () => {
        const admin = await administrator();
        await admin.query(`drop role ${quoted(name)}`);
        await admin.end();
      });
      const url = new URL(own.url);
      url.username = encodeURIComponent(name);
      url.password = 'secret';
      const database = await opened({ url: url.href, connections: 1 });
      const { id, attempts: fence } = await claimedOne(database, name);
      const sent = await transaction(database, (tx) => send(tx, outbox, 'release', { id, fence }));
      expect(sent.outcome).toBe('applied');
      await sql`update fencepost.delivery set status = 'processing', attempts = attempts + 1,
        lease_owner = ${name}, lease_expires_at = now() + interval '1 hour'
        where id = ${id}::uuid`.execute(database.db);
      const journal = await readJournal(database.db, outbox, id);
      const said = journal.map(({ event, actor }) => [event, actor]);
      expect(said).toEqual([
        ['claim', name],
        ['release', name],
        [null, `outside: ${name}`],
      ]);
    }
  });
});
