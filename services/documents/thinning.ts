// What documents leave behind as they grow old: revisions become fewer, receipts go. Started in
// every process; rows that another one is at are passed over.
//
// - All revisions of a day stay, then one an hour, after a month one a day. Those with a name and
//   those that brought a version back stay always, and so does the newest.
// - Receipts live 30 days: a save that is sent again later than that is a conflict.
// - Batch by batch, each a transaction of its own. It never ends the process.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../persistence/database.ts';
import { thinRevisions } from '../../persistence/document-revisions.ts';
import { deleteOldReceipts } from '../../persistence/document-saves.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';

export interface ThinningOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly everyMs?: number;
  /** Rows that one statement looks at, at most. */
  readonly batch?: number;
}

export interface Thinned {
  readonly hourly: number;
  readonly daily: number;
  readonly receipts: number;
}

export interface Thinning {
  /** Thins what is due, and says how much went. Stops early when it is closed. */
  runOnce(): Promise<Thinned>;
  close(): Promise<void>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const ages = { hour: dayMs, day: 30 * dayMs } as const;
const receiptMs = 30 * dayMs;

/** Starts a first turn, in the background, and one every hour. */
export function startThinning(options: ThinningOptions): Thinning {
  const { database, log, everyMs = hourMs, batch: limit = 500 } = options;
  const closing = new AbortController();
  let turn: Promise<unknown> = Promise.resolve();

  type Batch = (tx: Tx) => Promise<{ readonly looked: number; readonly deleted: number }>;

  async function untilNoneIsLeft(work: Batch): Promise<number> {
    let [looked, total] = [limit, 0];
    while (looked === limit && !closing.signal.aborted) {
      const done = await transaction(database, work);
      looked = done.looked;
      total += done.deleted;
    }
    return total;
  }

  async function thin(): Promise<Thinned> {
    const stage = (which: keyof typeof ages) =>
      untilNoneIsLeft((tx) => thinRevisions(tx, { stage: which, olderThanMs: ages[which], limit }));
    const hourly = await stage('hour');
    const daily = await stage('day');
    const receipts = await untilNoneIsLeft(async (tx) => {
      const deleted = await deleteOldReceipts(tx, { olderThanMs: receiptMs, limit });
      return { looked: deleted, deleted };
    });
    return { hourly, daily, receipts };
  }

  /** One turn after the other: two of one process would only pass over each other's rows. */
  function runOnce(): Promise<Thinned> {
    const mine = turn.then(thin);
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        const thinned = await runOnce();
        if (Object.values(thinned).some((count) => count > 0))
          log.info(thinned, 'documents: thinned');
      } catch (error) {
        log.error({ err: error, tryAgainMs: everyMs }, 'documents: thinning failed');
      }
      await pause(everyMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    runOnce,
    async close(): Promise<void> {
      closing.abort();
      await running;
      await turn;
    },
  };
}
