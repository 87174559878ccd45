// Writes that came too late: an owner's event whose fence was not the run's any more. Nothing
// moved; that it was tried is recorded, because a rising rate means that leases are too short.

import { sql } from 'kysely';
import type { Machine } from '../machines/status-machine.ts';
import type { Lost } from './outcome.ts';
import type { Tx } from './transaction.ts';

/** Records lost writes in one statement. `fences` are those that the writers came with. */
export async function recordLost(
  tx: Tx,
  machine: Machine,
  event: string,
  lost: readonly (Lost & { readonly sentFence: number })[],
): Promise<void> {
  if (lost.length === 0) return;
  await sql`
    insert into fencepost.lost_write (machine, run, event, fence, found_fence, found_status)
    select ${machine.id}, l.run, ${event}, l.fence, l.found_fence, l.found_status
    from unnest(
      ${lost.map((each) => each.id)}::uuid[], ${lost.map((each) => each.sentFence)}::int4[],
      ${lost.map((each) => each.fence)}::int4[], ${lost.map((each) => each.status)}::text[]
    ) as l(run, fence, found_fence, found_status)`.execute(tx);
}
