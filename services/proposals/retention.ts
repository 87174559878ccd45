// How long plans that have ended are kept, with their receipts: what the retention deletes beside
// deliveries. server.ts hands it over.

import { deleteEndedProposals } from '../../persistence/proposal-retention.ts';
import type { Tx } from '../../persistence/transaction.ts';

const keptMs = 90 * 86_400_000;

/** The batches of a turn: each deletes at most `limit` rows, and says how many. */
export const proposalBatches = (
  limit: number,
): Readonly<Record<string, (tx: Tx) => Promise<number>>> => ({
  proposals: (tx) => deleteEndedProposals(tx, { olderThanMs: keptMs, limit }),
});
