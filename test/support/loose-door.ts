// The kernel's door for any machine: the suites have no names to give to the types of the real one.

import type { Machine } from '../../machines/status-machine.ts';
import { claim, heal, sweep } from '../../persistence/claims.ts';
import { send, sendMany } from '../../persistence/door.ts';
import type { Tx } from '../../persistence/transaction.ts';
import type { Values } from './machines.ts';

/** An outcome of any machine, with everything that any kind of outcome has. */
export interface LooseOutcome {
  readonly outcome: 'applied' | 'missing' | 'lost' | 'refused' | 'invalid';
  readonly id: string;
  readonly before?: Values;
  readonly after?: Values;
  readonly at?: number;
  readonly dice?: number;
  readonly status?: string;
  readonly fence?: number;
  readonly because?: readonly string[];
  readonly code?: string;
  readonly where?: string;
}

/** What is sent to one run: its id, the fence or the actor, and the event's fields. */
export type LooseRow = Values & { readonly id: string };

export const sendLoosely = (
  tx: Tx,
  machine: Machine,
  event: string,
  rows: readonly LooseRow[],
): Promise<readonly LooseOutcome[]> => sendMany(tx, machine, event, rows as never);

export const sendOneLoosely = (
  tx: Tx,
  machine: Machine,
  event: string,
  row: LooseRow,
): Promise<LooseOutcome> => send(tx, machine, event, row as never);

export const claimLoosely = (
  tx: Tx,
  machine: Machine,
  event: string,
  options: Values,
): Promise<readonly Values[]> => claim(tx, machine, event as never, options as never);

export const sweepLoosely = (
  tx: Tx,
  machine: Machine,
  event: string,
  limit: number,
): Promise<readonly LooseOutcome[]> => sweep(tx, machine, event as never, { limit });

export const healLoosely = (
  tx: Tx,
  machine: Machine,
  id: string,
): Promise<LooseOutcome | undefined> => heal(tx, machine, id);
