// The journal: what happened to each run, in its order. The database writes it (guards.ts); here it
// is read, and its partitions are kept.
//
// - A run's stream goes by the run's own `seq`. Renewals are counted in `seq` and not journalled,
//   so it has gaps; it never goes back.
// - Partitions are months (UTC), made ahead of time. Rows find the default partition if that stops.
// - Retention drops whole partitions. A run's rows go with the run.

import { sql } from 'kysely';
import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import { maintain } from './maintenance.ts';
import { identifier, literal, qualified, schemaName } from './print.ts';
import { sqlstate, sqlstateOf } from './sqlstate.ts';
import type { Tx } from './transaction.ts';

export interface JournalEntry {
  readonly seq: number;
  /** Microseconds since 1970. */
  readonly at: number;
  /** Null: a write from outside the service. */
  readonly event: string | null;
  readonly actor: string;
  readonly from: string;
  readonly to: string;
  readonly fence: number;
  readonly definition: number;
}

/** Reads a run's journal after `seq`, in order, at most `limit` rows. */
export async function readJournal(
  db: Database['db'] | Tx,
  machine: Machine,
  run: string,
  { after = 0, limit = 1000 }: { readonly after?: number; readonly limit?: number } = {},
): Promise<readonly JournalEntry[]> {
  return await db
    .selectFrom('fencepost.journal')
    .select([
      'seq',
      'at',
      'event',
      'actor',
      'from_status as from',
      'to_status as to',
      'fence',
      'definition',
    ])
    .where('machine', '=', machine.id)
    .where('run', '=', run)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute();
}

interface Month {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

async function monthsAhead(tx: Tx, ahead: number): Promise<readonly Month[]> {
  const { rows } = await sql<Month>`
    select 'journal_' || to_char(month, 'YYYY_MM') as name,
      to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00' as "from",
      to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00' as "to"
    from generate_series(
      date_trunc('month', clock_timestamp() at time zone 'UTC'),
      date_trunc('month', clock_timestamp() at time zone 'UTC') + ${`${ahead} months`}::interval,
      interval '1 month') as month
    where to_regclass('fencepost.journal_' || to_char(month, 'YYYY_MM')) is null`.execute(tx);
  return rows;
}

const truncateGuard = (part: string) =>
  `create trigger truncated before truncate on ${part} for each statement
  execute function ${qualified('refuse_journal_change')}()`;

async function addPartition(database: Database, month: Month): Promise<boolean> {
  const [parent, part] = [qualified('journal'), qualified(month.name)];
  try {
    return await maintain(database, async (tx) => {
      // Another process may have made it while this one waited for the lock. to_regclass would
      // still answer from what the session had looked up before the wait.
      const { rows } = await sql`
        select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${schemaName} and c.relname = ${month.name}`.execute(tx);
      if (rows.length > 0) return false;
      await sql`create table ${sql.raw(part)} (like ${sql.raw(parent)} including all)`.execute(tx);
      // ATTACH lets writers go on; CREATE … PARTITION OF would stop them all.
      await sql
        .raw(
          `alter table ${parent} attach partition ${part} for values from (${literal(month.from)}) to (${literal(month.to)})`,
        )
        .execute(tx);
      // Triggers for each row come with the parent; those on TRUNCATE do not.
      await sql.raw(truncateGuard(part)).execute(tx);
      return true;
    });
  } catch (error) {
    // Rows of this month are in the default partition already: they stay there, and so does the
    // month.
    if (sqlstateOf(error) === sqlstate.checkViolation) return false;
    throw error;
  }
}

/**
 * Makes the partitions of this month and the next ones. Call it at start and once a day.
 * @returns the names of those it made.
 */
export async function keepPartitions(database: Database, ahead = 2): Promise<readonly string[]> {
  const missing = await maintain(database, (tx) => monthsAhead(tx, ahead));
  const made: string[] = [];
  for (const month of missing) if (await addPartition(database, month)) made.push(month.name);
  return made;
}

/**
 * Drops the partitions whose every row is older than so many days, at least one.
 * @returns the names of those it dropped.
 */
export async function dropOldPartitions(
  database: Database,
  retentionDays = 90,
): Promise<readonly string[]> {
  if (!(retentionDays >= 1)) throw new RangeError(`cannot keep the journal ${retentionDays} days`);
  return await maintain(database, async (tx) => {
    const { rows } = await sql<{ name: string }>`
      select c.relname as name
      from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass(${qualified('journal')}) and c.relname ~ '^journal_[0-9]{4}_[0-9]{2}$'
        and to_date(substr(c.relname, 9), 'YYYY_MM') + interval '1 month'
          < (clock_timestamp() at time zone 'UTC') - ${`${retentionDays} days`}::interval
      order by 1`.execute(tx);
    for (const { name } of rows) {
      await sql.raw(`drop table ${identifier('fencepost')}.${identifier(name)}`).execute(tx);
    }
    return rows.map((row) => row.name);
  });
}
