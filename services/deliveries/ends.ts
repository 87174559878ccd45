// Writes how claimed deliveries ended, under their fences. leases.ts calls it, one call at a time.
//
// - An end is tried until the database has it: the mail is out, and nobody else knows. Only the
//   `givingUp` signal stops that; the row then lapses, and its mail is sent again.
// - A late end changes nothing and is an answer, not an error: somebody else has the row.
// - A receipt that cannot be stored is left out. It must never be why a mail is sent twice.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { outbox } from '../../machines/outbox.ts';
import type { Database } from '../../persistence/database.ts';
import { sendMany } from '../../persistence/door.ts';
import type { Outcome } from '../../persistence/outcome.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { backoffMs } from '../backoff.ts';

export type End =
  | { readonly event: 'sent'; readonly receipt: Readonly<Record<string, string>> | null }
  | {
      readonly event: 'fail';
      readonly retryable: boolean;
      readonly unknown: boolean;
      readonly error: string;
    }
  | { readonly event: 'release' };

export interface Ended {
  readonly id: string;
  readonly fence: number;
  readonly end: End;
}

type Ending<N extends End['event']> = Ended & { readonly end: Extract<End, { readonly event: N }> };

const isA =
  <N extends End['event']>(event: N) =>
  (ended: Ended): ended is Ending<N> =>
    ended.end.event === event;

const writeSent = (ended: readonly Ending<'sent'>[]) => {
  const rows = ended.map(({ id, fence, end: { receipt } }) => ({ id, fence, receipt }));
  return (tx: Tx) => sendMany(tx, outbox, 'sent', rows);
};

const writeFailed = (ended: readonly Ending<'fail'>[]) => {
  const rows = ended.map(({ id, fence, end: { retryable, unknown, error } }) => {
    return { id, fence, retryable, unknown, error };
  });
  return (tx: Tx) => sendMany(tx, outbox, 'fail', rows);
};

const writeReleased = (ended: readonly Ending<'release'>[]) => {
  const rows = ended.map(({ id, fence }) => ({ id, fence }));
  return (tx: Tx) => sendMany(tx, outbox, 'release', rows);
};

export interface EndWriterOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly longestWaitMs: number;
  readonly givingUp: AbortSignal;
}

/** Returns a function that writes ends. It resolves when all are written, or were given up. */
export function endWriter({ database, log, longestWaitMs, givingUp }: EndWriterOptions) {
  let lostWrites = 0;

  /** Says what came of an end. Returns a plainer one if this one could not be stored. */
  function conclude(ended: Ended, outcome: Outcome<typeof outbox>, again: boolean) {
    const { id, fence, end } = ended;
    const about = { delivery: id, attempt: fence };
    switch (outcome.outcome) {
      case 'applied': {
        const { status, failures } = outcome.after;
        const error = end.event === 'fail' && { error: end.error };
        log.info({ ...about, status, failures, ...error }, `delivery: ${end.event}`);
        return undefined;
      }
      case 'lost':
        // The answer to the first COMMIT was lost, and the row says that it took effect.
        if (again && outcome.fence === fence && outcome.status !== 'processing') return undefined;
        lostWrites += 1;
        log.warn({ ...about, found: outcome, lostWrites }, 'delivery: too late, changed nothing');
        return undefined;
      case 'invalid':
        log.error({ ...about, outcome }, 'delivery: its end cannot be stored as it is');
        if (end.event !== 'sent' || !end.receipt) return undefined;
        return { id, fence, end: { event: end.event, receipt: null } };
      case 'missing':
      case 'refused':
        log.error({ ...about, outcome }, 'delivery: it would not end');
        return undefined;
      default:
        return outcome satisfies never;
    }
  }

  async function settle<E extends Ended>(
    ended: readonly E[],
    writing: (ended: readonly E[]) => (tx: Tx) => Promise<readonly Outcome<typeof outbox>[]>,
  ): Promise<void> {
    if (ended.length === 0) return;
    for (let failures = 0; ; ) {
      try {
        const outcomes = await transaction(database, writing(ended));
        const plainer = ended.flatMap((each, i) => {
          const outcome = outcomes[i];
          return (outcome && conclude(each, outcome, failures > 0)) ?? [];
        });
        return await write(plainer);
      } catch (error) {
        failures += 1;
        const about = { err: error, deliveries: ended.map(({ id }) => id) };
        if (givingUp.aborted) {
          log.error(about, 'delivery: ends were not written, these will be sent again');
          return;
        }
        log.warn(about, 'delivery: ends were not written, trying again');
        const waitMs = backoffMs(failures, longestWaitMs);
        await pause(waitMs, undefined, { signal: givingUp }).catch(() => undefined);
      }
    }
  }

  /** One transaction an event: several calls in one would lock rows out of id order. */
  async function write(ended: readonly Ended[]): Promise<void> {
    await settle(ended.filter(isA('sent')), writeSent);
    await settle(ended.filter(isA('fail')), writeFailed);
    await settle(ended.filter(isA('release')), writeReleased);
  }

  return write;
}
