// Deletes what is over, of several kinds, batch by batch: each batch is a transaction of its own,
// so that none is long and a stop waits for one at most. Retention and thinning are made of it.
//
// - A kind that cannot be deleted may fail each time. It does not keep the others from their turn.

import type { Database } from '../persistence/database.ts';
import { type Tx, transaction } from '../persistence/transaction.ts';

/** How many rows it deleted; and how many it looked at, where that may be more. */
type Done = number | { readonly looked: number; readonly deleted: number };

export type Batch = (tx: Tx) => Promise<Done>;

interface BatchesOptions {
  readonly database: Database;
  /** Rows that a batch looks at, at most. As many: there may be more. */
  readonly limit: number;
}

/**
 * Makes a turn of `startTurns`, which says how many of each kind were deleted.
 * @throws AggregateError of what failed, after every kind was tried.
 */
export function deletingIn<K extends string>(
  { database, limit }: BatchesOptions,
  batches: Readonly<Record<K, Batch>>,
): (closing: AbortSignal) => Promise<Readonly<Record<K, number>>> {
  return async (closing) => {
    const counts: Record<string, number> = {};
    const errors: unknown[] = [];
    for (const [kind, batch] of Object.entries<Batch>(batches)) {
      counts[kind] = 0;
      try {
        for (let looked = limit; looked === limit && !closing.aborted; ) {
          const done = await transaction(database, batch);
          looked = typeof done === 'number' ? done : done.looked;
          counts[kind] += typeof done === 'number' ? done : done.deleted;
        }
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not all that is over was deleted');
    return counts as Record<K, number>;
  };
}
