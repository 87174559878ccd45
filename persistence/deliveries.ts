// What the outbox's own pages read: a delivery, and what happened to it. Moving one is the door's.

import type { Kysely } from 'kysely';
import { outbox } from '../machines/outbox.ts';
import type { Schema } from './schema.ts';

/** Reads a delivery without what is sent: the payload stays with the worker. */
export async function readDelivery(db: Kysely<Schema>, id: string) {
  return await db
    .selectFrom('fencepost.delivery')
    .select(['id', 'status', 'channel', 'recipient', 'message_key', 'redrive_of'])
    .select(['attempts', 'failures', 'lease_losses', 'maybe_twice', 'last_error', 'receipt'])
    .select(['created_at', 'next_attempt_at', 'give_up_at', 'finished_at'])
    .where('id', '=', id)
    .executeTakeFirst();
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
