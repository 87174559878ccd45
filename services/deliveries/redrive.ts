// The command `redrive`: a new delivery of a message that was refused or given up. The old one
// stays as it is, with its journal.
//
// - Same recipient, payload and message key, so that a receiver that has it after all can drop it.
//   Attempts, failures and the time to give up begin anew; whether it may have arrived before does
//   not.
// - A delivery is redriven once. Whoever comes second, at once or a week later, is told of the new
//   one, which can be redriven in its turn: a message has one live delivery, and its history is a
//   line. Callers take turns on the old row's lock; a unique index holds it against everybody else.

import { outbox } from '../../machines/outbox.ts';
import { heal } from '../../persistence/claims.ts';
import { create } from '../../persistence/create.ts';
import { lockForRedrive, readRedrive } from '../../persistence/deliveries.ts';
import type { Tx } from '../../persistence/transaction.ts';

export type RedriveOutcome =
  | { readonly outcome: 'redriven'; readonly id: string }
  /** There is no such delivery. */
  | { readonly outcome: 'missing' }
  /** It is on its way, or was sent. */
  | { readonly outcome: 'refused'; readonly status: string }
  /** It was redriven before, as `id`. */
  | { readonly outcome: 'conflict'; readonly id: string };

const redrivable: readonly string[] = outbox.commands?.['redrive']?.from ?? [];

/** Redrives a delivery. Waits for another redrive of the same one, within the lock timeout. */
export async function redrive(tx: Tx, id: string, actor?: string): Promise<RedriveOutcome> {
  await heal(tx, outbox, id);
  const old = await lockForRedrive(tx, id);
  if (!old) return { outcome: 'missing' };
  const { status, ...same } = old;
  if (!redrivable.includes(status)) return { outcome: 'refused', status };
  const before = await readRedrive(tx, id);
  if (before !== undefined) return { outcome: 'conflict', id: before };
  const [created] = await create(tx, outbox, [
    { ...same, redrive_of: id, enqueued_by: actor ?? null },
  ]);
  if (created === undefined) throw new Error('one delivery was created and no id came back');
  return { outcome: 'redriven', id: created };
}
