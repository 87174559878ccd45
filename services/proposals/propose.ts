// Proposing a plan: checked, frozen, hashed, and stored as a pending run, in the caller's
// transaction.
//
// - Whether four eyes are needed is the service's policy, frozen into each proposal at its birth.
// - The risk is the gravest of the tools'; who proposes may only raise it.

import { z } from 'zod';
import { proposal } from '../../machines/proposal.ts';
import { create } from '../../persistence/create.ts';
import { insertSteps, readClock, type StoredStep } from '../../persistence/proposals.ts';
import { storable, textFault } from '../../persistence/text.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { checkSteps, graver, type PlanProblem } from './check-steps.ts';
import { planHash } from './plan.ts';
import { type NewStep, type Risk, risks, type ToolRegistry } from './tools.ts';

/** When who approves must not be who proposed. */
export const fourEyesPolicies = ['never', 'high-risk', 'always'] as const;
export type FourEyes = (typeof fourEyesPolicies)[number];

const minuteMs = 60_000;
const dayMs = 86_400_000;
const usualExpiryMs = 7 * dayMs;
const longestRationale = 4000;

/** Text for people, of a length that is kept as it is. */
export const storableText = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine((text) => textFault(text) === undefined, 'This text cannot be stored as it is.');

/** What a request to propose looks like. The arguments are checked against each step's tool. */
export const newProposal = z.strictObject({
  steps: z.array(
    z.strictObject({
      tool: z.string().max(80),
      version: z.int().min(1).optional(),
      arguments: z.unknown(),
    }),
  ),
  risk: z.enum(risks).default('low'),
  rationale: storableText(longestRationale).default(''),
  expiresInMs: z
    .int()
    .min(minuteMs)
    .max(30 * dayMs)
    .default(usualExpiryMs),
});
export type NewProposal = z.output<typeof newProposal>;

export interface ProposingOptions {
  readonly tools: ToolRegistry;
  readonly fourEyes: FourEyes;
}

export type ProposeOutcome =
  | { readonly outcome: 'proposed'; readonly id: string; readonly planHash: string }
  | { readonly outcome: 'invalid'; readonly problems: readonly PlanProblem[] };

export interface Linked {
  readonly link: 'continue' | 'compensate';
  readonly linkedTo: string;
}

interface Birth {
  readonly proposer: string;
  readonly steps: readonly StoredStep[];
  readonly risk: Risk;
  readonly rationale: string;
  readonly expiresInMs: number;
  readonly linked?: Linked;
}

async function bear(tx: Tx, fourEyes: FourEyes, birth: Birth): Promise<ProposeOutcome> {
  const { proposer, steps, risk, rationale, expiresInMs, linked } = birth;
  const clock = await readClock(tx);
  const hash = planHash(steps);
  const [id] = await create(tx, proposal, [
    {
      proposer,
      risk,
      four_eyes: fourEyes,
      plan_hash: hash,
      steps: steps.length,
      rationale: storable(rationale, longestRationale),
      created_at: clock,
      expires_at: clock + expiresInMs * 1000,
      ...(linked && { link: linked.link, linked_to: linked.linkedTo }),
    },
  ]);
  if (id === undefined) throw new Error('one proposal was created and no id came back');
  await insertSteps(tx, id, steps);
  return { outcome: 'proposed', id, planHash: hash };
}

/**
 * Proposes a plan. Nothing is stored where something is wrong with it.
 * @throws InvalidValuesError for a proposer that cannot be stored.
 */
export async function propose(
  tx: Tx,
  { tools, fourEyes }: ProposingOptions,
  plan: NewProposal & { readonly proposer: string },
): Promise<ProposeOutcome> {
  const checked = checkSteps(tools, plan.steps);
  if ('problems' in checked) return { outcome: 'invalid', problems: checked.problems };
  const risk = graver(plan.risk, checked.risk);
  return await bear(tx, fourEyes, { ...plan, steps: checked.steps, risk });
}

export interface LinkedPlan extends Linked {
  readonly proposer: string;
  readonly steps: readonly NewStep[];
  readonly rationale: string;
}

/** Proposes what follows from a plan that has ended. As grave as its steps. */
export async function proposeLinked(
  tx: Tx,
  { tools, fourEyes }: ProposingOptions,
  { proposer, steps, rationale, ...linked }: LinkedPlan,
): Promise<ProposeOutcome> {
  const checked = checkSteps(tools, steps);
  if ('problems' in checked) return { outcome: 'invalid', problems: checked.problems };
  const birth = { proposer, rationale, expiresInMs: usualExpiryMs, linked };
  return await bear(tx, fourEyes, { ...birth, ...checked });
}
