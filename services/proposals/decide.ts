// Approving and rejecting: what a person decides about a plan. The machine judges; here its answer
// becomes one that says who decided before, and what the plan's hash is.

import { isFinal, isLeased } from '../../machines/arrows.ts';
import { proposal } from '../../machines/proposal.ts';
import { heal } from '../../persistence/claims.ts';
import { send } from '../../persistence/door.ts';
import type { Outcome } from '../../persistence/outcome.ts';
import { type ProposalRow, readProposal } from '../../persistence/proposals.ts';
import type { Tx } from '../../persistence/transaction.ts';

/** It was not done, and why: the names of conditions, and what was decided before, by whom. */
export interface Refusal {
  readonly outcome: 'refused';
  readonly id: string;
  readonly status: string;
  readonly because: readonly string[];
  readonly planHash: string;
  readonly proposer: string;
  readonly approvedBy: string | null;
  readonly rejectedBy: string | null;
  readonly reason: string | null;
}

export type DecideOutcome =
  | { readonly outcome: 'approved' | 'rejected'; readonly id: string }
  | { readonly outcome: 'missing'; readonly id: string }
  /** A value cannot be stored. */
  | { readonly outcome: 'invalid'; readonly field: string; readonly code: string }
  | Refusal;

export const refusal = (row: ProposalRow, because: readonly string[]): Refusal => ({
  outcome: 'refused',
  id: row.id,
  status: row.status,
  because,
  planHash: row.plan_hash,
  proposer: row.proposer,
  approvedBy: row.approved_by,
  rejectedBy: row.rejected_by,
  reason: row.reason,
});

type Sent = (tx: Tx) => Promise<Outcome<typeof proposal>>;

async function decide(
  tx: Tx,
  id: string,
  decision: 'approved' | 'rejected',
  sent: Sent,
): Promise<DecideOutcome> {
  await heal(tx, proposal, id);
  const before = await readProposal(tx, id);
  if (!before) return { outcome: 'missing', id };
  // Nothing can be decided any more, and the event would wait for the step that is being run.
  const isOver = isFinal(proposal, before.status) || isLeased(proposal, before.status);
  if (isOver) return refusal(before, ['wrong_status']);
  const outcome = await sent(tx);
  switch (outcome.outcome) {
    case 'applied':
      return { outcome: decision, id };
    case 'missing':
      return { outcome: 'missing', id };
    case 'invalid':
      return { outcome: 'invalid', field: outcome.where, code: outcome.code };
    case 'refused':
    case 'lost': {
      const because = outcome.outcome === 'refused' ? outcome.because : ['wrong_status'];
      const row = await readProposal(tx, id);
      return row ? refusal(row, because) : { outcome: 'missing', id };
    }
    default:
      return outcome satisfies never;
  }
}

interface Decision {
  readonly id: string;
  readonly actor: string;
}

/** Approves exactly the plan whose hash the reviewer saw. */
export const approve = (
  tx: Tx,
  { id, actor, planHash }: Decision & { readonly planHash: string },
): Promise<DecideOutcome> =>
  decide(tx, id, 'approved', () =>
    send(tx, proposal, 'approve', { id, actor, plan_hash: planHash }),
  );

/** Rejects a plan that is not being carried out. */
export const reject = (
  tx: Tx,
  { id, actor, reason }: Decision & { readonly reason?: string | undefined },
): Promise<DecideOutcome> =>
  decide(tx, id, 'rejected', () =>
    send(tx, proposal, 'reject', { id, actor, reason: reason ?? null }),
  );
