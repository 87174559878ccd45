// What the outbox's own pages and commands read: a delivery, what happened to it, and what became
// of it. Moving one is the door's.

import type { Kysely } from 'kysely';
import { outbox } from '../machines/outbox.ts';
import type { Schema } from './schema.ts';
import type { Tx } from './transaction.ts';

/** Reads a delivery without what is sent: the payload stays with the worker. */
export async function readDelivery(db: Kysely<Schema>, id: string) {
  return await db
    .selectFrom('fencepost.delivery')
    .select(['id', 'status', 'channel', 'recipient', 'message_key', 'redrive_of', 'enqueued_by'])
    .select(['attempts', 'failures', 'lease_losses', 'maybe_twice', 'last_error', 'receipt'])
    .select(['created_at', 'next_attempt_at', 'give_up_at', 'finished_at'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Reads what a redrive copies, and locks the row until the transaction ends, as a transition would.
 * Source: PostgreSQL manual, 13.3.2 Row-Level Locks.
 */
export async function lockForRedrive(tx: Tx, id: string) {
  return await tx
    .selectFrom('fencepost.delivery')
    .select(['status', 'channel', 'recipient', 'payload', 'message_key', 'maybe_twice'])
    .select(['max_failures', 'max_lease_losses'])
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

/** The delivery that a redrive of this one made, if there was one. */
export async function readRedrive(db: Kysely<Schema>, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('fencepost.delivery')
    .select('id')
    .where('redrive_of', '=', id)
    .executeTakeFirst();
  return row?.id;
}

/** Reads the transitions of a delivery, oldest first. Renewals of a lease are not among them. */
export async function readDeliveryJournal(db: Kysely<Schema>, id: string) {
  return await db
    .selectFrom('fencepost.journal')
    .select(['seq', 'at', 'event', 'actor', 'from_status', 'to_status', 'fence'])
    .where('machine', '=', outbox.id)
    .where('run', '=', id)
    .orderBy('seq')
    .execute();
}
