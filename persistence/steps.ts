// The two ends of a step, each in one write to the server: what opens it and marks where its tool
// begins, and what closes it, keeps its receipt, has all deferred constraints judged and commits.
// services/proposals/step.ts calls them around the tool.
//
// - Neither has a savepoint of its own: before the mark nothing has happened that could be lost,
//   and what closes a step is committed or rolled back with all of it.
// - The receipt does not wait for the answer to `step.ok`: its statement finds out by itself, and
//   fails where the step is not closed, as when the tool ended the transaction. So does COMMIT,
//   also where the tool had begun another one, in which no step is open.

import { proposal } from '../machines/proposal.ts';
import { statementName } from './compile.ts';
import { type EventRow, send } from './door.ts';
import type { Outcome } from './outcome.ts';
import { mark } from './proposals.ts';
import { sqlstate, sqlstateOf } from './sqlstate.ts';
import type { Tx } from './transaction.ts';

const markNow = { sql: mark, parameters: [], name: 'mark_tool' };
/** The last thing before COMMIT: what comes after it is judged at once. */
const judgeNow = { sql: 'set constraints all immediate', parameters: [], name: 'judge_deferred' };

const receiptText = `
  insert into fencepost.proposal_receipt (proposal, index, outcome, output, fence)
  values ((select p.id from fencepost.proposal p
      where p.id = $1::uuid and p.fence = $4::int4 and p.next_step = $2::int4 + 1
        and p.open_step is null), $2::int4, 'ok', $3::text, $4::int4)`;
const receiptName = statementName('step_receipt', receiptText);

/** The step was not open in this transaction any more. Nothing was committed. */
class TransactionEndedError extends Error {
  override readonly name = 'TransactionEndedError';
  readonly code = 'transaction_ended';

  constructor(cause?: unknown) {
    super('the tool ended the transaction of its step', { cause });
  }
}

/** The receipt had no plan to belong to. */
const isUnclosed = (error: unknown): boolean =>
  sqlstateOf(error) === sqlstate.notNullViolation &&
  (error as { readonly column?: string }).column === 'proposal';

/** Opens a step, which is the lock, and marks where its tool begins. */
export const openStep = (
  tx: Tx,
  row: EventRow<typeof proposal, 'step.open'>,
): Promise<Outcome<typeof proposal>> =>
  send(tx, proposal, 'step.open', row, { bare: true, behind: [markNow] });

export interface ClosedStep {
  readonly id: string;
  readonly fence: number;
  readonly step: number;
  readonly leaseMs: number;
  /** JSON text, or null where the tool put out nothing. */
  readonly output: string | null;
}

/**
 * Closes a step with its receipt, has every deferred constraint judged, and commits.
 * @throws TransactionEndedError where the step is not open; what else refused it, with the
 * transaction rolled back; CommitInDoubtError.
 */
export async function closeStep(
  tx: Tx,
  { id, fence, step, leaseMs, output }: ClosedStep,
): Promise<void> {
  const receipt = { sql: receiptText, parameters: [id, step, output, fence], name: receiptName };
  const row = { id, fence, step, lease_ms: leaseMs };
  try {
    const sending = { last: true, behind: [receipt, judgeNow] };
    const { outcome } = await send(tx, proposal, 'step.ok', row, sending);
    if (outcome !== 'applied') throw new Error(`step.ok is ${outcome}`);
  } catch (error) {
    throw isUnclosed(error) ? new TransactionEndedError(error) : error;
  }
}
