// Answers under an Idempotency-Key: who may work on a key, what was answered under it, and keeping
// an answer in the transaction of what it tells of.
//
// - A key is worked on by one transaction at a time. Whoever comes meanwhile is told at once: an
//   INSERT … ON CONFLICT would wait for the other's end.
//   Source: PostgreSQL manual, 9.28.10 Advisory Lock Functions.

import { sql } from 'kysely';
import type { Tx } from './transaction.ts';

export interface RequestKey {
  readonly principal: string;
  readonly route: string;
  readonly key: string;
}

export interface KeptAnswer {
  /** Of the request that it answers. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** Takes the key until the transaction ends. Says false, at once, if somebody else has it. */
export async function takeKey(tx: Tx, { principal, route, key }: RequestKey): Promise<boolean> {
  const name = JSON.stringify(['idempotency', principal, route, key]);
  const { rows } = await sql<{ taken: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as taken`.execute(tx);
  return rows[0]?.taken === true;
}

/** Reads what was answered under the key. Who has taken it sees every answer that there is. */
export async function readKept(tx: Tx, asked: RequestKey): Promise<KeptAnswer | undefined> {
  return await tx
    .selectFrom('fencepost.idempotency')
    .select(['fingerprint', 'status', 'headers', 'body'])
    .where('principal', '=', asked.principal)
    .where('route', '=', asked.route)
    .where('key', '=', asked.key)
    .executeTakeFirst();
}

/** Keeps an answer, exactly if this transaction commits; `run`: as long as that one lives, too. */
export async function keep(
  tx: Tx,
  asked: RequestKey,
  { run = null, ...answer }: KeptAnswer & { readonly run?: string | null },
): Promise<void> {
  const { principal, route, key } = asked;
  const { fingerprint, status, headers, body } = answer;
  await tx
    .insertInto('fencepost.idempotency')
    .values({ principal, route, key, fingerprint, status, headers, body, run })
    .execute();
}

/** What `work` wrote is taken back if `isUndone` says so of what it returns. */
export async function undoable<T>(
  tx: Tx,
  work: () => Promise<T>,
  isUndone: (result: T) => boolean,
): Promise<T> {
  await sql`savepoint undoable`.execute(tx);
  const result = await work();
  if (isUndone(result)) await sql`rollback to savepoint undoable`.execute(tx);
  await sql`release savepoint undoable`.execute(tx);
  return result;
}
