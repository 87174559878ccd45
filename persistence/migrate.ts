// Brings the schema up to date. Every process calls it at start; ten may do so at once on an empty
// database: one works, the others wait and find it done.
//
// - All that is missing is applied in one transaction: a database is never between two migrations.
// - A migration that this code does not know was made by a newer process of the same deploy. It is
//   left alone; `definitions.ts` says whether this process can work beside it.

import { sql } from 'kysely';
import type { Database } from './database.ts';
import { maintain } from './maintenance.ts';
import { kernel } from './migrations/0001-kernel.ts';
import { outbox } from './migrations/0002-outbox.ts';
import { mailbox } from './migrations/0003-mailbox.ts';
import { coolDown } from './migrations/0004-cool-down.ts';
import { finishedDeliveries } from './migrations/0005-finished-deliveries.ts';
import { proposals } from './migrations/0006-proposals.ts';
import { operations } from './migrations/0007-operations.ts';
import { documents } from './migrations/0008-documents.ts';
import { idempotency } from './migrations/0009-idempotency.ts';
import { journalStream } from './migrations/0010-journal-stream.ts';
import type { Tx } from './transaction.ts';

interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
}

const migrations: readonly Migration[] = [
  kernel,
  outbox,
  mailbox,
  coolDown,
  finishedDeliveries,
  proposals,
  operations,
  documents,
  idempotency,
  journalStream,
];

async function applied(tx: Tx): Promise<ReadonlySet<string>> {
  await sql`create schema if not exists fencepost`.execute(tx);
  await sql`create table if not exists fencepost.migration (
    name text primary key, applied_at timestamptz not null default clock_timestamp())`.execute(tx);
  const { rows } = await sql<{ name: string }>`select name from fencepost.migration`.execute(tx);
  return new Set(rows.map((row) => row.name));
}

/** Applies what is missing and returns the names of what this call applied. */
export async function migrate(database: Database): Promise<readonly string[]> {
  return await maintain(database, async (tx) => {
    const known = await applied(tx);
    const missing = migrations.filter((migration) => !known.has(migration.name));
    for (const { name, statements } of missing) {
      for (const statement of statements) await sql.raw(statement).execute(tx);
      await sql`insert into fencepost.migration (name) values (${name})`.execute(tx);
    }
    return missing.map((migration) => migration.name);
  });
}
