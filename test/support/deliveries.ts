// Deliveries for the tests that need a few real runs: enqueued and claimed through the door, made
// due or lapsed by making them older, read as they are.

import { sql } from 'kysely';
import { outbox } from '../../machines/outbox.ts';
import type { Run } from '../../machines/status-machine.ts';
import { claim } from '../../persistence/claims.ts';
import { create, type NewRun } from '../../persistence/create.ts';
import type { Database } from '../../persistence/database.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';

type Delivery = Run<typeof outbox>;

/** What a delivery is born with. */
export const letter = (changed: NewRun<typeof outbox> = {}): NewRun<typeof outbox> => ({
  channel: 'email',
  recipient: 'ada@example.org',
  payload: '{}',
  message_key: 'key',
  ...changed,
});

export const enqueueIn = (tx: Tx, count = 1, changed: NewRun<typeof outbox> = {}) =>
  create(
    tx,
    outbox,
    Array.from({ length: count }, () => letter(changed)),
  );

export const enqueue = (database: Database, count = 1, changed: NewRun<typeof outbox> = {}) =>
  transaction(database, (tx) => enqueueIn(tx, count, changed));

export const claimIn = (tx: Tx, limit = 10, owner = 'worker'): Promise<readonly Delivery[]> =>
  claim(tx, outbox, 'claim', { limit, owner, lease_ms: 60_000 });

export const claimed = (database: Database, limit = 10, owner = 'worker') =>
  transaction(database, (tx) => claimIn(tx, limit, owner));

/** One delivery in a worker's hands. */
export async function claimedOne(database: Database, owner = 'worker'): Promise<Delivery> {
  await enqueue(database);
  const [run] = await claimed(database, 1, owner);
  if (!run) throw new Error('nothing was claimed');
  return run;
}

export async function statusOf({ db }: Database, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('fencepost.delivery')
    .select('status')
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.status;
}

/** Writes columns as they are told, without any guard. `changes` is SQL: `attempts = 7`. */
export async function force(database: Database, id: string, changes: string): Promise<void> {
  await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.delivery set ${sql.raw(changes)} where id = ${id}::uuid`.execute(tx);
  });
}

/** Takes away every delivery, with whatever was recorded about them. */
export async function empty(database: Database): Promise<void> {
  await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`truncate fencepost.delivery, fencepost.journal, fencepost.quarantine,
      fencepost.lost_write`.execute(tx);
  });
}
