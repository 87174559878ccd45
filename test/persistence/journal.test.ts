// The journal: that it is whole, that nobody rewrites it, and where its rows lie.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Database } from '../../persistence/database.ts';
import { send, sendMany } from '../../persistence/door.ts';
import { dropOldPartitions, keepPartitions, readJournal } from '../../persistence/journal.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, enqueue, statusOf } from '../support/deliveries.ts';
import { fresh, opened, useOpened } from '../support/opened.ts';

const database = useOpened();

/** The names of the partitions of this month and the next ones. */
async function months({ db }: Database, ahead: number): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select 'journal_' || to_char(now() at time zone 'UTC' + n * interval '1 month', 'YYYY_MM')
      as name
    from generate_series(0, ${ahead}::int4) n`.execute(db);
  return rows.map(({ name }) => name);
}

async function partitions({ db }: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'fencepost.journal'::regclass order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

/** In which partition each journal row of a run lies. */
async function placesOf({ db }: Database, id: string): Promise<readonly string[]> {
  const { rows } = await sql<{ place: string }>`
    select c.relname as place from fencepost.journal j join pg_class c on c.oid = j.tableoid
    where j.run = ${id}::uuid order by j.seq`.execute(db);
  return rows.map(({ place }) => place);
}

const countOf = async ({ db }: Database, table: 'journal' | 'quarantine', id: string) => {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from ${sql.table(`fencepost.${table}`)} where run = ${id}::uuid`.execute(db);
  return rows[0]?.count;
};

const run = ({ db }: Database, text: string) => sql.raw(text).execute(db);

describe('keepPartitions', () => {
  it('makes this month and the next ones, and nothing when it is called again', async () => {
    const own = await fresh();
    const expected = await months(own, 3);
    expect(await keepPartitions(own, 2)).toEqual(expected.slice(0, 3));
    expect(await keepPartitions(own, 2)).toEqual([]);
    expect(await keepPartitions(own, 3)).toEqual(expected.slice(3));
    expect(await partitions(own)).toEqual([...expected, 'journal_default'].sort());
  });

  it('is called by five processes at once, and each partition is made once', async () => {
    const own = await fresh();
    const processes = await Promise.all(
      Array.from({ length: 5 }, () => opened({ url: own.url, connections: 1 })),
    );
    const made = await Promise.all(processes.map((each) => keepPartitions(each, 4)));
    expect(made.flat().sort()).toEqual(await months(own, 4));
  });

  it('leaves a month where it is whose rows lie in the default partition already', async () => {
    const own = await fresh();
    const { id, attempts: fence } = await claimedOne(own);
    const [now, ...later] = await months(own, 2);
    expect(await keepPartitions(own, 2)).toEqual(later);
    expect(await partitions(own)).not.toContain(now);
    await transaction(own, (tx) => send(tx, outbox, 'sent', { id, fence }));
    expect(await placesOf(own, id)).toEqual(['journal_default', 'journal_default']);
  });
});

describe('a row', () => {
  it("lies in its month's partition", async () => {
    const own = await fresh();
    const [now] = await keepPartitions(own);
    const { id } = await claimedOne(own);
    expect(await placesOf(own, id)).toEqual([now]);
  });

  it('finds a place where no partition was made', async () => {
    const { id } = await claimedOne(database());
    expect(await placesOf(database(), id)).toEqual(['journal_default']);
  });

  it('is guarded in a partition that was made later', async () => {
    const own = await fresh();
    const [now] = await keepPartitions(own);
    await claimedOne(own);
    const part = `fencepost.${now}`;
    for (const text of [
      `update ${part} set actor = 'nobody'`,
      `delete from ${part}`,
      `truncate ${part}`,
    ]) {
      const constraint = 'journal_append_only';
      await expect(run(own, text), text).rejects.toMatchObject({ constraint });
    }
  });
});

describe('dropOldPartitions', () => {
  it('drops what is older than its retention, as a whole, and nothing else', async () => {
    const own = await fresh();
    const kept = await keepPartitions(own, 1);
    const add = (name: string, from: string, to: string) =>
      run(
        own,
        `create table fencepost.${name} partition of fencepost.journal
          for values from ('${from} 00:00:00+00') to ('${to} 00:00:00+00')`,
      );
    await add('journal_2020_01', '2020-01-01', '2020-02-01');
    await add('journal_2020_12', '2020-12-01', '2021-01-01');
    // Not one of ours, whatever lies in it.
    await add('journal_before_2019', '2010-01-01', '2019-01-01');
    expect(await dropOldPartitions(own, 365_000)).toEqual([]);
    expect(await dropOldPartitions(own)).toEqual(['journal_2020_01', 'journal_2020_12']);
    expect(await dropOldPartitions(own)).toEqual([]);
    const left = [...kept, 'journal_before_2019', 'journal_default'].sort();
    expect(await partitions(own)).toEqual(left);
  });

  it('keeps a month until its last day is old enough', async () => {
    const own = await fresh();
    const { rows } = await sql<{ name: string; from: string; to: string; days: number }>`
      select 'journal_' || to_char(month, 'YYYY_MM') as name, month::text as "from",
        (month + interval '1 month')::text as "to",
        ceil(extract(epoch from (now() at time zone 'UTC') - (month + interval '1 month')) / 86400)::int4
          as days
      from (select date_trunc('month', now() at time zone 'UTC') - interval '5 months' as month)`.execute(
      own.db,
    );
    const [old] = rows;
    if (!old) throw new Error('there is always a month five months ago');
    await run(
      own,
      `create table fencepost.${old.name} partition of fencepost.journal
        for values from ('${old.from}+00') to ('${old.to}+00')`,
    );
    expect(await dropOldPartitions(own, old.days)).toEqual([]);
    expect(await dropOldPartitions(own, old.days - 1)).toEqual([old.name]);
  });
});

describe('what happened', () => {
  it.each([
    ['updated', "update fencepost.journal set actor = 'nobody'"],
    ['deleted', 'delete from fencepost.journal'],
    ['truncated', 'truncate fencepost.journal'],
  ])('is not %s', async (_, text) => {
    const { id } = await claimedOne(database());
    const constraint = 'journal_append_only';
    await expect(run(database(), text)).rejects.toMatchObject({ code: '23514', constraint });
    expect(await countOf(database(), 'journal', id)).toBe(1);
  });

  it('goes with its run, and so does what the quarantine says of it', async () => {
    const { id, attempts: fence } = await claimedOne(database());
    const other = await claimedOne(database());
    await run(
      database(),
      `insert into fencepost.quarantine (machine, run, event, sqlstate, reason)
        values ('outbox', '${id}', 'claim', '23514', ''), ('other', '${id}', 'claim', '23514', '')`,
    );
    await transaction(database(), (tx) => send(tx, outbox, 'sent', { id, fence }));
    await run(database(), `delete from fencepost.delivery where id = '${id}'`);
    expect(await countOf(database(), 'journal', id)).toBe(0);
    expect(await countOf(database(), 'journal', other.id)).toBe(1);
    // Another machine's run of the same id is another run.
    expect(await countOf(database(), 'quarantine', id)).toBe(1);
  });

  it('cannot go unrecorded: where the journal refuses, nothing has happened', async () => {
    const own = await fresh();
    await enqueue(own, 3);
    const runs = await claimed(own);
    await run(
      own,
      `alter table fencepost.journal add constraint no_receipt
        check (to_status <> 'sent' or fence <> 1) not valid`,
    );
    const rows = runs.map(({ id, attempts: fence }) => ({ id, fence }));
    const outcomes = await transaction(own, (tx) => sendMany(tx, outbox, 'sent', rows));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['invalid', 'invalid', 'invalid']);
    for (const { id } of rows) {
      expect(await statusOf(own, id)).toBe('processing');
      expect(await countOf(own, 'journal', id)).toBe(1);
    }
    const raw = run(own, "update fencepost.delivery set status = 'sent'");
    await expect(raw).rejects.toMatchObject({ constraint: 'no_receipt' });
  });

  it('is read in order, from any place on, in pages', async () => {
    const { id, attempts: fence } = await claimedOne(database());
    await transaction(database(), (tx) => send(tx, outbox, 'release', { id, fence }));
    const [again] = (await claimed(database(), 100)).filter((each) => each.id === id);
    const last = { id, fence: again?.attempts ?? 0 };
    await transaction(database(), (tx) => send(tx, outbox, 'sent', last));
    const all = await readJournal(database().db, outbox, id);
    expect(all.map(({ seq, event, from, to }) => [seq, event, from, to])).toEqual([
      [1, 'claim', 'pending', 'processing'],
      [2, 'release', 'processing', 'pending'],
      [3, 'claim', 'pending', 'processing'],
      [4, 'sent', 'processing', 'sent'],
    ]);
    const page = { after: 1, limit: 2 };
    expect(await readJournal(database().db, outbox, id, page)).toEqual(all.slice(1, 3));
    expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).toSorted());
  });
});
