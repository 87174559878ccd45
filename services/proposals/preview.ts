// What a plan would do: all of its steps in one transaction that is always rolled back.
//
// - It takes little time and waits for nobody: its locks hold up the steps of real plans, so the
//   whole of it has a limit, and a lock that is held is the preview's failure, not its wait.
// - Steps see what earlier ones did, as they will. The first that fails ends the preview, as it
//   would end the plan.
// - What a rollback does not take back, such as the values of a sequence, no tool of ours uses.

import { proposal } from '../../machines/proposal.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import type { Limits } from '../../persistence/limits.ts';
import {
  backToMark,
  markTool,
  type ProposalRow,
  readProposal,
  readSteps,
  type StoredStep,
  tryDeferred,
} from '../../persistence/proposals.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { describeError } from '../describe-error.ts';
import { type Refusal, refusal } from './decide.ts';
import { shownStep } from './show.ts';
import type { ToolRegistry } from './tools.ts';
import { callTool } from './use-tool.ts';

export interface PreviewOptions {
  readonly database: Database;
  readonly tools: ToolRegistry;
  /** The whole of it. */
  readonly previewMs: number;
  /** How long a step waits for a lock. */
  readonly lockMs?: number;
}

export interface PreviewedStep {
  readonly step: number;
  readonly tool: string;
  readonly version: number;
  /** In the tool's own words; null where it has none. */
  readonly sentence: string | null;
  readonly outcome: 'ok' | 'failed' | 'not_reached';
  readonly output: unknown;
  readonly error: string | null;
}

export type PreviewOutcome =
  | {
      readonly outcome: 'previewed';
      readonly id: string;
      readonly planHash: string;
      readonly steps: readonly PreviewedStep[];
    }
  | { readonly outcome: 'missing'; readonly id: string }
  | Refusal;

/** Carries what was seen out of the transaction, which rolls back because of it. */
class PreviewOver extends Error {
  readonly steps: readonly PreviewedStep[];

  constructor(steps: readonly PreviewedStep[]) {
    super('the preview is over');
    this.steps = steps;
  }
}

function limitsWithin(previewMs: number, lockMs: number): Limits {
  return {
    lockMs: Math.min(lockMs, previewMs),
    statementMs: previewMs,
    idleMs: previewMs + 1000,
    transactionMs: previewMs + 2000,
  };
}

function shown(tools: ToolRegistry, step: StoredStep, index: number) {
  const { arguments: _, ...about } = shownStep(tools, step, index);
  return about;
}

interface Previewed {
  readonly row: ProposalRow;
  readonly steps: readonly StoredStep[];
  readonly actor: string;
  readonly endsAt: number;
}

async function tryAll(
  tx: Tx,
  tools: ToolRegistry,
  { row, steps, actor, endsAt }: Previewed,
): Promise<readonly PreviewedStep[]> {
  const outputs = new Map<number, unknown>();
  const seen: PreviewedStep[] = [];
  let failed = false;
  for (const [index, step] of steps.entries()) {
    const about = shown(tools, step, index);
    if (failed) {
      seen.push({ ...about, outcome: 'not_reached', output: null, error: null });
      continue;
    }
    await markTool(tx);
    try {
      const text = await callTool(tx, {
        tools,
        step,
        toolMs: endsAt - performance.now(),
        context: {
          proposal: row.id,
          step: index,
          proposer: row.proposer,
          approvedBy: row.approved_by,
          requestedBy: actor,
          outputOf: (place) => outputs.get(place),
        },
      });
      await tryDeferred(tx);
      const output = text === null ? null : (JSON.parse(text) as unknown);
      outputs.set(index, output);
      seen.push({ ...about, outcome: 'ok', output, error: null });
    } catch (error) {
      failed = true;
      seen.push({ ...about, outcome: 'failed', output: null, error: describeError(error) });
      // The connection may be gone. What follows sends nothing more, and it is rolled back anyhow.
      await backToMark(tx).catch(() => undefined);
    }
  }
  return seen;
}

/**
 * Tries all steps of a plan that is still to be carried out, and leaves no trace.
 * @throws the driver's error where the database cannot be asked.
 */
export async function preview(
  { database, tools, previewMs, lockMs = 500 }: PreviewOptions,
  { id, actor }: { readonly id: string; readonly actor: string },
): Promise<PreviewOutcome> {
  const found = await transaction(database, async (tx) => {
    await heal(tx, proposal, id);
    const row = await readProposal(tx, id);
    return row && { row, steps: await readSteps(tx, id) };
  });
  if (!found) return { outcome: 'missing', id };
  const { row, steps } = found;
  if (row.status !== 'pending' && row.status !== 'approved') return refusal(row, ['wrong_status']);
  const endsAt = performance.now() + previewMs;
  try {
    return await transaction<never>(
      database,
      async (tx) => {
        throw new PreviewOver(await tryAll(tx, tools, { row, steps, actor, endsAt }));
      },
      { attempts: 1, limits: limitsWithin(previewMs, lockMs) },
    );
  } catch (error) {
    if (!(error instanceof PreviewOver)) throw error;
    return { outcome: 'previewed', id, planHash: row.plan_hash, steps: error.steps };
  }
}
