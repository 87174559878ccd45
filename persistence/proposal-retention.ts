// The end of what is over with plans: those that have ended, with their steps, receipts and
// journal. services/proposals/retention.ts calls it until it deletes no more.
//
// - Bounded, and rows that somebody holds are skipped: as retention.ts does it.
// - A plan that follows from another stays as long as that one: without it the old plan could be
//   continued or compensated again.

import { sql } from 'kysely';
import type { Bounds } from './retention.ts';
import type { Tx } from './transaction.ts';

/** Deletes plans that ended longer ago. Returns how many. */
export async function deleteEndedProposals(tx: Tx, bounds: Bounds): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
  delete from fencepost.proposal where id = any(array(
    select p.id from fencepost.proposal p
    where p.finished_at < statement_timestamp()
        - ${bounds.olderThanMs}::float8 * interval '1 millisecond'
      and (p.linked_to is null
        or (select true from fencepost.proposal old where old.id = p.linked_to) is null)
    order by p.finished_at limit ${bounds.limit} for update of p skip locked))`.execute(tx);
  return Number(numAffectedRows);
}
