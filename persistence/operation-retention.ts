// The end of what is over with branches: finished operations with their journal, and the provider's
// own. services/operations/retention.ts calls each until it deletes no more.
//
// - Bounded, and rows that somebody holds are skipped: as retention.ts does it.
// - A key lives as long as its operation: after that the same request is a new one.
// - The newest operation of a branch stays, because it may be somebody's mark.

import { sql } from 'kysely';
import type { Bounds } from './retention.ts';
import type { Tx } from './transaction.ts';

const interval = (ms: number) => sql`${ms}::float8 * interval '1 millisecond'`;

/** Deletes operations that finished longer ago. Returns how many. */
export async function deleteFinishedOperations(tx: Tx, bounds: Bounds): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
  delete from fencepost.operation where id = any(array(
    select o.id from fencepost.operation o
    where o.finished_at < statement_timestamp() - ${interval(bounds.olderThanMs)}
    order by o.finished_at limit ${bounds.limit} for update of o skip locked))`.execute(tx);
  return Number(numAffectedRows);
}

/** Deletes the provider's own operations that ended longer ago. Returns how many. */
export async function deleteEndedBranchOperations(tx: Tx, bounds: Bounds): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
  delete from fencepost.branch_operation where id = any(array(
    select o.id from fencepost.branch_operation o
    where o.status in ('finished', 'error')
      and o.updated_at < statement_timestamp() - ${interval(bounds.olderThanMs)}
      and exists (select from fencepost.branch_operation n where n.branch = o.branch and n.id > o.id)
    order by o.id limit ${bounds.limit} for update of o skip locked))`.execute(tx);
  return Number(numAffectedRows);
}
