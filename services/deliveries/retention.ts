// The retention of what the outbox leaves behind: finished deliveries with their journal, lost
// writes, passed cool-downs, answers kept for an Idempotency-Key, old mails of the development
// mailbox. Started in every process; rows that another one is deleting are passed over.
//
// - Left out: the journal's old partitions, which services/upkeep.ts drops, and `vacuum`, which is
//   the database's own.

import type { Logger } from 'pino';
import type { outbox } from '../../machines/outbox.ts';
import type { StatusOf } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import {
  deleteFinished,
  deleteKeptAnswers,
  deleteLostWrites,
  deleteOldMails,
  deletePassedCoolDowns,
} from '../../persistence/retention.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { type Batch, deletingIn } from '../batches.ts';
import { startTurns, type Turns } from '../turns.ts';

/** Days for which a finished delivery is kept, by how it ended. */
export type RetentionDays = Readonly<Record<'sent' | 'failed' | 'dead', number>>;

export interface RetentionOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly days?: Partial<RetentionDays>;
  readonly everyMs?: number;
  /** Rows that one statement deletes at most. */
  readonly batch?: number;
  /** What else is deleted in a turn, by others' batches. */
  readonly more?: (limit: number) => Readonly<Record<string, Batch>>;
}

/** How much of each was deleted. */
type Deleted = Readonly<Record<string, number>>;

const usualDays: RetentionDays = { sent: 30, failed: 90, dead: 90 };
const lostWriteDays = 90;
const keptAnswerDays = 7;
const keptMails = 1000;
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const usualBatch = 500;

/** Starts a first turn, in the background, and one every hour. */
export function startRetention(options: RetentionOptions): Turns<Deleted> {
  const { database, log, everyMs = hourMs, batch: limit = usualBatch, more } = options;
  const days = { ...usualDays, ...options.days };

  const finished = (status: keyof RetentionDays & StatusOf<typeof outbox>) => (tx: Tx) =>
    deleteFinished(tx, status, { olderThanMs: days[status] * dayMs, limit });
  const batches: Readonly<Record<string, Batch>> = {
    sent: finished('sent'),
    failed: finished('failed'),
    dead: finished('dead'),
    lostWrites: (tx) => deleteLostWrites(tx, { olderThanMs: lostWriteDays * dayMs, limit }),
    keptAnswers: (tx) => deleteKeptAnswers(tx, { olderThanMs: keptAnswerDays * dayMs, limit }),
    coolDowns: (tx) => deletePassedCoolDowns(tx, limit),
    mails: (tx) => deleteOldMails(tx, keptMails, limit),
    ...more?.(limit),
  };

  const says = { done: 'retention', failed: 'retention: a turn failed' };
  return startTurns({ work: deletingIn({ database, limit }, batches), everyMs, log, says });
}
