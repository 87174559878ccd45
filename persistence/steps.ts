// The two ends of a step, each in one write to the server: what opens it and marks where its tool
// begins, and what closes it, keeps its receipt, has all deferred constraints judged and commits.
// services/proposals/step.ts calls them around the tool.
//
// - Neither has a savepoint of its own: before the mark nothing has happened that could be lost,
//   and behind it everything goes back to the mark.
// - The receipt does not wait for the answer to `step.ok`: its statement finds out by itself. It
//   writes nothing where the step is not closed, as when the tool ended the transaction, because it
//   might be a transaction of its own then.

import { proposal } from '../machines/proposal.ts';
import { statementName } from './compile.ts';
import { type EventRow, send } from './door.ts';
import type { Outcome } from './outcome.ts';
import { mark } from './proposals.ts';
import type { Tx } from './transaction.ts';

const markNow = { sql: mark, parameters: [], name: 'mark_tool' };
/** The last thing before COMMIT: what comes after it is judged at once. */
const judgeNow = { sql: 'set constraints all immediate', parameters: [], name: 'judge_deferred' };

const receiptText = `
  insert into fencepost.proposal_receipt (proposal, index, outcome, output, fence)
  select p.id, $2::int4, 'ok', $3::text, p.fence from fencepost.proposal p
  where p.id = $1::uuid and p.fence = $4::int4 and p.next_step = $2::int4 + 1
    and p.open_step is null`;
const receiptName = statementName('step_receipt', receiptText);

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
 * Closes a step with its receipt, has every deferred constraint judged, and commits. What is not
 * applied is not committed either: the trigger `receipted` refuses a step that is left open.
 * @throws what refused it, with the transaction rolled back; CommitInDoubtError.
 */
export function closeStep(
  tx: Tx,
  { id, fence, step, leaseMs, output }: ClosedStep,
): Promise<Outcome<typeof proposal>> {
  const receipt = { sql: receiptText, parameters: [id, step, output, fence], name: receiptName };
  const row = { id, fence, step, lease_ms: leaseMs };
  return send(tx, proposal, 'step.ok', row, { last: true, behind: [receipt, judgeNow] });
}
