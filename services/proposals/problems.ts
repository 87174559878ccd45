// The kinds of problem that proposals add, and how an outcome becomes one.

import { z } from 'zod';
import { type Problem, problem, problemKind } from '../http/problem.ts';
import { cannotUndo, hash, proposalId, status } from './answers.ts';
import type { PlanProblem } from './check-steps.ts';
import type { Refusal } from './decide.ts';

/** What is told of a plan that something cannot be done with: what was decided, and by whom. */
const decision = {
  proposalStatus: status,
  because: z.array(z.string()).meta({ description: 'The conditions that are not true' }),
  planHash: hash.meta({ description: 'The hash of the plan as it is' }),
  proposer: z.string(),
  approvedBy: z.string().nullable(),
  rejectedBy: z.string().nullable(),
  reason: z.string().nullable(),
};
const steps = z.array(z.int()).meta({ description: 'The places of the steps with mistakes' });

export const kinds = {
  notFound: problemKind('proposal_not_found', 404, 'There is no such proposal'),
  invalid: problemKind('invalid_plan', 422, 'Something in the plan is wrong', { steps }),
  hashMismatch: problemKind(
    'plan_hash_mismatch',
    409,
    'This is not the hash of this plan',
    decision,
  ),
  ownPlan: problemKind('own_plan', 409, 'Who proposed this plan must not approve it', decision),
  expired: problemKind('expired', 409, 'This proposal has expired', decision),
  wrongStatus: problemKind(
    'wrong_status',
    409,
    'This cannot be done with it any more, or not yet',
    {
      ...decision,
    },
  ),
  followed: problemKind('already_followed', 409, 'There is such a plan already', {
    followedBy: proposalId,
  }),
  nothing: problemKind('nothing_to_do', 409, 'Nothing was done that could be undone', {
    cannotUndo,
  }),
  outdated: problemKind('outdated_plan', 409, 'The tools of this plan have changed', { steps }),
  busy: problemKind('executor_busy', 503, 'This process executes as many plans as it may'),
  previewBusy: problemKind('preview_busy', 503, 'This process tries as many plans out as it may'),
  unknownEvent: problemKind('unknown_seq', 400, 'The stream cannot go on behind this event'),
} as const;

export const refusedKinds = [
  kinds.hashMismatch,
  kinds.ownPlan,
  kinds.expired,
  kinds.wrongStatus,
] as const;
type RefusedCode = (typeof refusedKinds)[number]['code'];

export const missing = (id: string): Problem<'proposal_not_found'> =>
  problem(kinds.notFound, `No proposal has the id ${id}.`);

function standing({ status: is, approvedBy, rejectedBy, reason }: Refusal): string {
  const by = [
    ...(approvedBy === null ? [] : [`${approvedBy} approved it`]),
    ...(rejectedBy === null ? [] : [`${rejectedBy} rejected it`]),
  ];
  const why = reason === null ? '' : `: ${reason}`;
  return `It is "${is}"${by.length > 0 ? `, ${by.join(' and ')}` : ''}${why}.`;
}

function kindOf({ status: is, because }: Refusal): (typeof refusedKinds)[number] {
  if (is === 'expired' || because.includes('expired')) return kinds.expired;
  if (because.includes('own_plan')) return kinds.ownPlan;
  return because.includes('plan_hash_mismatch') ? kinds.hashMismatch : kinds.wrongStatus;
}

/** Why something was not done with a plan, and who decided what before. */
export function refused(refusal: Refusal): Problem<RefusedCode> {
  const { outcome: _, id: __, status: proposalStatus, because, ...told } = refusal;
  const kind = kindOf(refusal);
  const details: Readonly<Record<RefusedCode, string>> = {
    plan_hash_mismatch: 'Look at the plan as it is, and approve that or nothing.',
    own_plan: `${refusal.proposer} proposed it. Somebody else has to approve it.`,
    expired: 'Propose it again.',
    wrong_status: standing(refusal),
  };
  const members = { proposalStatus, because: [...because], ...told };
  return problem(kind, details[kind.code], { members });
}

/** What is wrong with a plan: each mistake with its step and a JSON pointer into the request. */
export function planProblem<K extends 'invalid' | 'outdated'>(
  kind: K,
  problems: readonly PlanProblem[],
): Problem<(typeof kinds)[K]['code']> {
  const places = problems.flatMap(({ step }) => (step === null ? [] : [step]));
  return problem(kinds[kind], 'See errors for what is wrong and where.', {
    errors: problems.map(({ code, pointer, detail }) => ({ code, pointer, detail })),
    members: { steps: [...new Set(places)] },
  });
}
