// Runs that cannot be moved by a claim or a sweep because a value or a constraint refuses it: set
// aside, so that they neither end the batch nor hide the runs behind them.
//
// - Claims and sweeps skip what is here. An operator mends the run and deletes the row; it also
//   goes with its run.
// - Events by id are not stopped by it: they answer `invalid` for themselves.

import type { Machine } from '../machines/status-machine.ts';
import { sqlstateOf } from './sqlstate.ts';
import { storable } from './text.ts';
import type { Tx } from './transaction.ts';

const longestReason = 2000;

/**
 * Sets a run aside, with what the database said. Again for the same run: the newest reason stays.
 */
export async function quarantine(
  tx: Tx,
  machine: Machine,
  event: string,
  run: string,
  error: unknown,
): Promise<void> {
  const reason = {
    event,
    sqlstate: sqlstateOf(error) ?? '',
    reason: storable(error instanceof Error ? error.message : String(error), longestReason),
  };
  await tx
    .insertInto('fencepost.quarantine')
    .values({ machine: machine.id, run, ...reason })
    .onConflict((conflict) => conflict.columns(['machine', 'run']).doUpdateSet(reason))
    .execute();
}
