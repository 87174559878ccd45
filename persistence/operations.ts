// What the requests and pages of operations read: one by its key, the one that is in flight, one in
// full, and pages. Moving one is the door's.

import { type Kysely, sql } from 'kysely';
import { dbops } from '../machines/dbops.ts';
import type { Schema } from './schema.ts';
import { sqlstateOf } from './sqlstate.ts';

const columns = [
  ...(['id', 'status', 'provider', 'target', 'action', 'request', 'principal'] as const),
  ...(['created_at', 'deadline_at', 'next_poll_at', 'issued_at', 'settles_at'] as const),
  ...(['issue_mark', 'refusals', 'polls', 'operations'] as const),
  ...(['outcome', 'error', 'last_error', 'finished_at'] as const),
  ...(['fence', 'lease_owner', 'lease_expires_at'] as const),
] as const;

/** Reads the operation that a principal asked for under this key. */
export async function readOperationByKey(
  db: Kysely<Schema>,
  principal: string,
  idempotencyKey: string,
) {
  return await db
    .selectFrom('fencepost.operation')
    .select(['id', 'fingerprint'])
    .where('principal', '=', principal)
    .where('idempotency_key', '=', idempotencyKey)
    .executeTakeFirst();
}

/** The id of the live operation on a target, if there is one. */
export async function readInFlight(
  db: Kysely<Schema>,
  provider: string,
  target: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('fencepost.operation')
    .select('id')
    .where('provider', '=', provider)
    .where('target', '=', target)
    .where('status', 'in', ['queued', 'running'])
    .executeTakeFirst();
  return row?.id;
}

export async function readOperation(db: Kysely<Schema>, id: string) {
  return await db
    .selectFrom('fencepost.operation')
    .select([...columns])
    .select(sql<number>`clock_timestamp()`.as('read_at'))
    .where('id', '=', id)
    .executeTakeFirst();
}
export type OperationRow = NonNullable<Awaited<ReturnType<typeof readOperation>>>;
export type ListedOperation = Omit<OperationRow, 'read_at'>;

export interface OperationFilter {
  readonly target?: string | undefined;
  readonly status?: string | undefined;
  readonly action?: string | undefined;
  /** The id of the last one on the page before. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Reads a page, newest first: ids are in the order of their making. */
export async function listOperations(
  db: Kysely<Schema>,
  { target, status, action, before, limit }: OperationFilter,
): Promise<readonly ListedOperation[]> {
  return await db
    .selectFrom('fencepost.operation')
    .select([...columns])
    .$if(target !== undefined, (query) => query.where('target', '=', target ?? ''))
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? ''))
    .$if(action !== undefined, (query) => query.where('action', '=', action ?? ''))
    .$if(before !== undefined, (query) => query.where('id', '<', before ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** Reads an operation's transitions behind a seq, oldest first. Renewals are not among them. */
export async function readOperationJournal(db: Kysely<Schema>, id: string, after = 0) {
  return await db
    .selectFrom('fencepost.journal')
    .select(['seq', 'at', 'event', 'actor', 'from_status', 'to_status', 'fence'])
    .where('machine', '=', dbops.id)
    .where('run', '=', id)
    .where('seq', '>', after)
    .orderBy('seq')
    .execute();
}

export type OperationEntry = Awaited<ReturnType<typeof readOperationJournal>>[number];

/** Says which of the two promises of the table an insert would have broken. */
export function operationConflict(error: unknown): 'in_flight' | 'key' | undefined {
  if (sqlstateOf(error) !== '23505') return undefined;
  const { constraint } = error as { readonly constraint?: string };
  if (constraint === 'operation_in_flight') return 'in_flight';
  return constraint === 'operation_key' ? 'key' : undefined;
}
