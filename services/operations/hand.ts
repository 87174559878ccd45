// One operation in a worker's hands: the row as it is known, and the events that are sent for it
// under the fence while it is being handled. steps.ts says which.
//
// - A lost database is waited for, as the writing of ends does: what the provider answered is known
//   nowhere else. Only the signal ends that.
// - An event that was sent before without an answer, and is refused now, had taken effect: nobody
//   else may send it under our fence.

import { setTimeout as pause } from 'node:timers/promises';
import type { dbops } from '../../machines/dbops.ts';
import { dbops as machine } from '../../machines/dbops.ts';
import type { EventsBy, FieldValues, Run } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { CallError, type EventRow, send } from '../../persistence/door.ts';
import type { Outcome } from '../../persistence/outcome.ts';
import { transaction } from '../../persistence/transaction.ts';
import { backoffMs } from '../backoff.ts';
import type { RunContext } from '../runs/work.ts';

export type Operation = Run<typeof dbops>;
type OwnEvent = EventsBy<typeof dbops, 'owner'>;

/** Somebody else has the run, or it has ended: nothing that we say counts any more. */
export class NotOursError extends Error {
  override readonly name = 'NotOursError';
  readonly code = 'not_ours';
}

/** What is to be written cannot be stored, however often it is sent. */
class UnstorableError extends Error {
  override readonly name = 'UnstorableError';
  readonly code = 'unstorable';
}

export interface Moved {
  /** Microseconds, by the database's clock. */
  readonly at: number;
  readonly row: Operation;
}

export interface Hand {
  /** The row after the last event that was applied. */
  readonly row: () => Operation;
  /**
   * Sends an event and waits for its outcome.
   * @returns undefined where the machine refuses it.
   * @throws NotOursError, and whatever kept the database away until the signal was aborted.
   */
  send<N extends OwnEvent>(
    event: N,
    fields: FieldValues<typeof dbops, N>,
  ): Promise<Moved | undefined>;
}

const finalErrors = [NotOursError, UnstorableError, CallError];
const longestBackoffMs = 5000;

export function takeInHand(database: Database, run: Operation, context: RunContext): Hand {
  const { signal } = context;
  const { id, fence } = run;
  let row = run;

  const once = <N extends OwnEvent>(event: N, fields: FieldValues<typeof dbops, N>) =>
    transaction(database, (tx) =>
      send<typeof dbops, N>(tx, machine, event, {
        ...fields,
        id,
        fence,
      } as unknown as EventRow<typeof dbops, N>),
    );

  function read(outcome: Outcome<typeof dbops>, again: boolean): Moved | undefined {
    switch (outcome.outcome) {
      case 'applied':
        row = { ...row, ...outcome.after };
        return { at: outcome.at, row };
      case 'refused':
        if (!again) return undefined;
        row = { ...row, ...outcome.before };
        return { at: Number.NEGATIVE_INFINITY, row };
      case 'lost':
      case 'missing':
        throw new NotOursError(`the run is ${outcome.outcome}`);
      case 'invalid':
        throw new UnstorableError(JSON.stringify(outcome));
      default:
        return outcome satisfies never;
    }
  }

  return {
    row: () => row,
    async send(event, fields) {
      for (let failures = 0; ; ) {
        const since = performance.now();
        try {
          const moved = read(await once(event, fields), failures > 0);
          if (moved && 'lease_ms' in fields) context.extend(since);
          return moved;
        } catch (error) {
          const isFinal = finalErrors.some((each) => error instanceof each);
          if (isFinal || signal.aborted) throw error;
          failures += 1;
          if (failures > 1000) throw error;
          const ms = backoffMs(failures, longestBackoffMs);
          await pause(ms, undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}
