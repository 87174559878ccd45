// How long finished operations are kept, with their journal and the provider's own: what the
// retention deletes beside deliveries. server.ts hands it over.

import {
  deleteEndedBranchOperations,
  deleteFinishedOperations,
} from '../../persistence/operation-retention.ts';
import type { Tx } from '../../persistence/transaction.ts';

const keptMs = 90 * 86_400_000;

/** The batches of a turn: each deletes at most `limit` rows, and says how many. */
export const operationBatches = (
  limit: number,
): Readonly<Record<string, (tx: Tx) => Promise<number>>> => ({
  operations: (tx) => deleteFinishedOperations(tx, { olderThanMs: keptMs, limit }),
  branchOperations: (tx) => deleteEndedBranchOperations(tx, { olderThanMs: keptMs, limit }),
});
