// What documents leave behind as they grow old: revisions become fewer, receipts go. Started in
// every process; rows that another one is at are passed over.
//
// - All revisions of a day stay, then one an hour, after a month one a day. Those with a name and
//   those that brought a version back stay always, and so does the newest.
// - Receipts live 30 days: a save that is sent again later than that is a conflict.

import type { Logger } from 'pino';
import type { Database } from '../../persistence/database.ts';
import { thinRevisions } from '../../persistence/document-revisions.ts';
import { deleteOldReceipts } from '../../persistence/document-saves.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { deletingIn } from '../batches.ts';
import { startTurns, type Turns } from '../turns.ts';

export interface ThinningOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly everyMs?: number;
  /** Rows that one statement looks at, at most. */
  readonly batch?: number;
}

/** How much went. */
export type Thinned = Readonly<Record<'hourly' | 'daily' | 'receipts', number>>;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const ages = { hour: dayMs, day: 30 * dayMs } as const;
const receiptMs = 30 * dayMs;

/** Starts a first turn, in the background, and one every hour. */
export function startThinning(options: ThinningOptions): Turns<Thinned> {
  const { database, log, everyMs = hourMs, batch: limit = 500 } = options;
  const stage = (which: keyof typeof ages) => (tx: Tx) =>
    thinRevisions(tx, { stage: which, olderThanMs: ages[which], limit });
  const batches = {
    hourly: stage('hour'),
    daily: stage('day'),
    receipts: (tx: Tx) => deleteOldReceipts(tx, { olderThanMs: receiptMs, limit }),
  };
  const says = { done: 'documents: thinned', failed: 'documents: thinning failed' };
  return startTurns({ work: deletingIn({ database, limit }, batches), everyMs, log, says });
}
