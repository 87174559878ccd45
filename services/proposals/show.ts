// A proposal as it is shown: with its plan, its receipts, its journal, and what can be done about
// it now. What time has done to it is written before it is read.

import { isFinal } from '../../machines/arrows.ts';
import { proposal } from '../../machines/proposal.ts';
import { heal } from '../../persistence/claims.ts';
import { printInstant } from '../../persistence/instant.ts';
import { type JournalEntry, readJournal } from '../../persistence/journal.ts';
import {
  type Page,
  type ProposalRow,
  type Receipt,
  readClock,
  readLinked,
  readProposal,
  readProposals,
  readReceipts,
  readSteps,
  type StoredStep,
} from '../../persistence/proposals.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { planText } from './plan.ts';
import type { ToolRegistry } from './tools.ts';

const printed = (at: number | null) => (at === null ? null : printInstant(at));

/** What lists have of it, and whoever looks at one. */
export const summary = (row: ProposalRow) => ({
  id: row.id,
  status: row.status,
  proposer: row.proposer,
  risk: row.risk,
  fourEyes: row.four_eyes,
  rationale: row.rationale,
  planHash: row.plan_hash,
  stepCount: row.steps,
  nextStep: row.next_step,
  link: row.link,
  linkedTo: row.linked_to,
  createdAt: printInstant(row.created_at),
  expiresAt: printInstant(row.expires_at),
  approvedBy: row.approved_by,
  approvedAt: printed(row.approved_at),
  executedBy: row.executed_by,
  rejectedBy: row.rejected_by,
  reason: row.reason,
  finishedAt: printed(row.finished_at),
});
type ProposalSummary = ReturnType<typeof summary>;

export const shownReceipt = ({ index, outcome, output, error, at }: Receipt) => ({
  step: index,
  outcome,
  output: output === null ? null : (JSON.parse(output) as unknown),
  error,
  at: printInstant(at),
});
export type ShownReceipt = ReturnType<typeof shownReceipt>;

/**
 * The receipts that belong to the row as it was read. Each statement sees what is committed when it
 * begins, so those that are read after the row may be of steps that the row does not count yet.
 */
export const receiptsOf = (
  row: ProposalRow,
  receipts: readonly Receipt[],
): readonly ShownReceipt[] =>
  receipts
    .filter(({ index }) => isFinal(proposal, row.status) || index < row.next_step)
    .map(shownReceipt);

/** What a step would change, in its tool's words. A tool that is gone has none. */
function sentenceOf(tools: ToolRegistry, step: StoredStep): string | null {
  const tool = tools.find(step.tool, step.version);
  const read = tool?.input.safeParse(JSON.parse(step.arguments));
  if (!tool || !read?.success) return null;
  try {
    return tool.sentence(read.data);
  } catch {
    return null;
  }
}

/** A step as it was proposed, and its tool's sentence of what it would change. */
export const shownStep = (tools: ToolRegistry, step: StoredStep, index: number) => ({
  step: index,
  tool: step.tool,
  version: step.version,
  sentence: sentenceOf(tools, step),
  arguments: JSON.parse(step.arguments) as unknown,
});
type ShownStep = ReturnType<typeof shownStep>;

export interface ShownProposal extends ProposalSummary {
  /** The plan's exact text: what the hash is of. */
  readonly plan: string;
  readonly steps: readonly ShownStep[];
  readonly receipts: readonly ShownReceipt[];
  readonly journal: readonly JournalEntry[];
  /** The plans that follow from this one, of those that were not turned down. */
  readonly continuedBy: string | null;
  readonly compensatedBy: string | null;
  /** As it was read, and when: what is judged to say what can be done about it. */
  readonly row: ProposalRow;
  readonly readAt: number;
}

/** Reads a proposal with everything about it. */
export async function show(
  tx: Tx,
  tools: ToolRegistry,
  id: string,
): Promise<ShownProposal | undefined> {
  await heal(tx, proposal, id);
  const row = await readProposal(tx, id);
  if (!row) return undefined;
  const steps = await readSteps(tx, id);
  const receipts = await readReceipts(tx, id);
  const journal = await readJournal(tx, proposal, id);
  const linked = await readLinked(tx, id);
  const linkedBy = (link: string) => linked.find((each) => each.link === link)?.id ?? null;
  return {
    ...summary(row),
    plan: planText(steps),
    steps: steps.map((step, index) => shownStep(tools, step, index)),
    receipts: receiptsOf(row, receipts),
    journal: journal.filter(({ seq }) => seq <= row.seq),
    continuedBy: linkedBy('continue'),
    compensatedBy: linkedBy('compensate'),
    row,
    readAt: await readClock(tx),
  };
}

/** Whether time has done something to a proposal that its row does not say yet. */
const isDue = (row: ProposalRow, clock: number): boolean => {
  const expires = row.status === 'pending' || row.status === 'approved';
  if (expires) return row.expires_at <= clock;
  return row.lease_expires_at !== null && row.lease_expires_at <= clock;
};

/** Reads a page of proposals, the newest first. The next one begins after the last id. */
export async function list(tx: Tx, page: Page): Promise<readonly ProposalRow[]> {
  const rows = await readProposals(tx, page);
  const clock = await readClock(tx);
  // In id order, as every transaction that locks several runs.
  const due = rows
    .filter((row) => isDue(row, clock))
    .map(({ id }) => id)
    .toSorted();
  if (due.length === 0) return rows;
  for (const id of due) await heal(tx, proposal, id);
  return await readProposals(tx, page);
}
