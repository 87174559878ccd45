// The commands of a plan that has ended: `continue` proposes the steps that are left, `compensate`
// the inverse of those that were carried out, in reverse order. Each makes a new plan, which
// somebody approves like any other; the old one stays as it is.
//
// - What cannot be undone is named in the new plan's rationale, before anyone approves it.
// - Of each there is one at a time, unless it was turned down. Callers take turns on the old row's
//   lock, and a unique index holds it against everybody else.

import { proposal } from '../../machines/proposal.ts';
import { heal } from '../../persistence/claims.ts';
import {
  lockProposal,
  type Receipt,
  readLinked,
  readProposal,
  readReceipts,
  readSteps,
  type StoredStep,
} from '../../persistence/proposals.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { describeError } from '../describe-error.ts';
import type { PlanProblem } from './check-steps.ts';
import { type Refusal, refusal } from './decide.ts';
import { type Linked, type ProposingOptions, proposeLinked } from './propose.ts';
import type { Inverse, Moved, NewStep, ToolRegistry } from './tools.ts';

/** A step that stays as it was carried out, and why. */
export interface Kept {
  readonly step: number;
  readonly tool: string;
  readonly reason: string;
}

export type FollowUpOutcome =
  | {
      readonly outcome: 'proposed';
      readonly id: string;
      readonly planHash: string;
      readonly cannotUndo: readonly Kept[];
    }
  | { readonly outcome: 'missing'; readonly id: string }
  | Refusal
  /** There is one already. */
  | { readonly outcome: 'conflict'; readonly id: string }
  /** Nothing was carried out, or nothing of it can be undone. */
  | { readonly outcome: 'nothing'; readonly cannotUndo: readonly Kept[] }
  /** The tools have changed: what would be proposed is no valid plan any more. */
  | { readonly outcome: 'invalid'; readonly problems: readonly PlanProblem[] };

interface Asked {
  readonly id: string;
  readonly actor: string;
}

interface Ended {
  readonly steps: readonly StoredStep[];
  readonly receipts: readonly Receipt[];
  readonly nextStep: number;
}

interface Made {
  readonly steps: readonly NewStep[];
  readonly rationale: string;
  readonly cannotUndo: readonly Kept[];
}

const outputOf = (receipts: readonly Receipt[], step: number): unknown => {
  const receipt = receipts.find(({ index, outcome }) => index === step && outcome === 'ok');
  return receipt?.output == null ? undefined : JSON.parse(receipt.output);
};

async function follow(
  tx: Tx,
  options: ProposingOptions,
  { id, actor, link }: Asked & Pick<Linked, 'link'>,
  make: (ended: Ended) => Made,
): Promise<FollowUpOutcome> {
  await heal(tx, proposal, id);
  const seen = await readProposal(tx, id);
  if (!seen) return { outcome: 'missing', id };
  const from: readonly string[] = proposal.commands?.[link]?.from ?? [];
  // Before the lock, which would wait for the step that is being run.
  if (!from.includes(seen.status)) return refusal(seen, ['wrong_status']);
  await lockProposal(tx, id);
  const before = (await readLinked(tx, id)).find((each) => each.link === link);
  if (before) return { outcome: 'conflict', id: before.id };
  const steps = await readSteps(tx, id);
  const receipts = await readReceipts(tx, id);
  const made = make({ steps, receipts, nextStep: seen.next_step });
  const { cannotUndo } = made;
  if (made.steps.length === 0) return { outcome: 'nothing', cannotUndo };
  const proposed = await proposeLinked(tx, options, {
    proposer: actor,
    steps: made.steps,
    rationale: made.rationale,
    link,
    linkedTo: id,
  });
  return proposed.outcome === 'proposed' ? { ...proposed, cannotUndo } : proposed;
}

function carriedStep(tools: ToolRegistry, step: StoredStep, moved: Moved): NewStep {
  const { tool: name, version } = step;
  const given: unknown = JSON.parse(step.arguments);
  const tool = tools.find(name, version);
  const read = tool?.carried && tool.input.safeParse(given);
  // Whatever is wrong is found when the new plan is checked.
  if (!tool?.carried || !read?.success) return { tool: name, version, arguments: given };
  return { tool: name, version, arguments: tool.carried(read.data, moved) };
}

/** Proposes the steps that are left of a failed plan, the failed one first. */
export const continuePlan = (
  tx: Tx,
  options: ProposingOptions,
  asked: Asked,
): Promise<FollowUpOutcome> =>
  follow(tx, options, { ...asked, link: 'continue' }, ({ steps, receipts, nextStep }) => {
    const moved: Moved = {
      placeOf: (step) => (step >= nextStep ? step - nextStep : undefined),
      outputOf: (step) => outputOf(receipts, step),
    };
    return {
      steps: steps.slice(nextStep).map((step) => carriedStep(options.tools, step, moved)),
      rationale: `Continues proposal ${asked.id} from step ${nextStep}.`,
      cannotUndo: [],
    };
  });

function inverseOf(tools: ToolRegistry, step: StoredStep, output: unknown): Inverse {
  const tool = tools.find(step.tool, step.version);
  if (!tool) return { reason: 'There is no such tool any more.' };
  try {
    return tool.inverse({ arguments: JSON.parse(step.arguments), output });
  } catch (error) {
    return { reason: describeError(error) };
  }
}

function undo(tools: ToolRegistry, { steps, receipts }: Ended, id: string): Made {
  const done = receipts.filter(({ outcome }) => outcome === 'ok').toReversed();
  const inverses = done.map(({ index }) => {
    const step = steps[index];
    if (!step) throw new Error(`proposal ${id} has a receipt of step ${index}, and no such step`);
    return { index, tool: step.tool, inverse: inverseOf(tools, step, outputOf(receipts, index)) };
  });
  const undone = inverses.flatMap(({ index, inverse }) =>
    'step' in inverse ? [{ index, step: inverse.step }] : [],
  );
  const cannotUndo = inverses.flatMap(({ index, tool, inverse }) =>
    'reason' in inverse ? [{ step: index, tool, reason: inverse.reason }] : [],
  );
  const rationale = [
    `Undoes step ${undone.map(({ index }) => index).join(', ')} of proposal ${id}.`,
    ...cannotUndo.map(({ step, tool, reason }) => `Cannot undo step ${step}, ${tool}: ${reason}`),
  ].join('\n');
  return { steps: undone.map(({ step }) => step), rationale, cannotUndo };
}

/** Proposes what takes back the steps that were carried out, the last one first. */
export const compensatePlan = (
  tx: Tx,
  options: ProposingOptions,
  asked: Asked,
): Promise<FollowUpOutcome> =>
  follow(tx, options, { ...asked, link: 'compensate' }, (ended) =>
    undo(options.tools, ended, asked.id),
  );
