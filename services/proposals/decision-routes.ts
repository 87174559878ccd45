// What people decide about a plan, and the plans that follow from one that has ended.

import { z } from 'zod';
import type { Tx } from '../../persistence/transaction.ts';
import { frame, problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { decided, followUp, hash, proposalId } from './answers.ts';
import { approve, type DecideOutcome, reject } from './decide.ts';
import { compensatePlan, continuePlan, type FollowUpOutcome } from './follow-up.ts';
import { kinds, missing, planProblem, refused, refusedKinds } from './problems.ts';
import { type ProposingOptions, storableText } from './propose.ts';

const params = z.strictObject({ id: proposalId });
const longestReason = 2000;

/** A value that its schema let through and the database cannot keep. */
const unstorable = (field: string, code: string) =>
  problem(frame.invalid, 'See errors for what is wrong and where.', {
    errors: [{ code, pointer: `/${field}`, detail: 'This cannot be stored.' }],
  });

function decisionAnswer(outcome: DecideOutcome) {
  switch (outcome.outcome) {
    case 'approved':
    case 'rejected':
      return { status: 200, body: { id: outcome.id, status: outcome.outcome } } as const;
    case 'missing':
      return missing(outcome.id);
    case 'invalid':
      return unstorable(outcome.field, outcome.code);
    case 'refused':
      return refused(outcome);
    default:
      return outcome satisfies never;
  }
}

const decisions = (): readonly Route[] => [
  route({
    method: 'post',
    path: '/v1/proposals/{id}/approve',
    scope: 'proposals:approve',
    operation: 'approveProposal',
    summary: 'Approve exactly the plan whose hash was seen',
    params,
    body: z.strictObject({ planHash: hash }),
    answers: { 200: decided },
    problems: [kinds.notFound, ...refusedKinds, frame.invalid],
    idempotent: true,
  }).handle(async ({ tx, params: { id }, body: { planHash }, principal }) =>
    decisionAnswer(await approve(tx, { id, actor: principal.sub, planHash })),
  ),
  route({
    method: 'post',
    path: '/v1/proposals/{id}/reject',
    scope: 'proposals:approve',
    operation: 'rejectProposal',
    summary: 'Reject a proposal that is not being executed',
    params,
    body: z.strictObject({ reason: storableText(longestReason).optional() }),
    answers: { 200: decided },
    problems: [kinds.notFound, ...refusedKinds, frame.invalid],
    idempotent: true,
  }).handle(async ({ tx, params: { id }, body: { reason }, principal }) =>
    decisionAnswer(await reject(tx, { id, actor: principal.sub, reason })),
  ),
];

function followUpAnswer(linkedTo: string, outcome: FollowUpOutcome) {
  switch (outcome.outcome) {
    case 'proposed': {
      const { id, planHash, cannotUndo } = outcome;
      const made = { id, planHash, status: 'pending', linkedTo } as const;
      const body = { ...made, cannotUndo: [...cannotUndo] };
      return { status: 201, body, location: `/v1/proposals/${id}` } as const;
    }
    case 'missing':
      return missing(outcome.id);
    case 'refused':
      return refused(outcome);
    case 'conflict': {
      const { id: followedBy } = outcome;
      const detail = `Proposal ${followedBy} is that plan. Another one can follow once it is rejected.`;
      return problem(kinds.followed, detail, { members: { followedBy } });
    }
    case 'nothing': {
      const members = { cannotUndo: [...outcome.cannotUndo] };
      return problem(kinds.nothing, 'See cannotUndo for what was done and stays.', { members });
    }
    case 'invalid':
      return planProblem('outdated', outcome.problems);
    default:
      return outcome satisfies never;
  }
}

interface FollowUp {
  readonly name: 'continue' | 'compensate';
  readonly summary: string;
  readonly make: (tx: Tx, asked: { id: string; actor: string }) => Promise<FollowUpOutcome>;
}

const followUpRoute = ({ name, summary, make }: FollowUp): Route =>
  route({
    method: 'post',
    path: `/v1/proposals/{id}/${name}`,
    scope: 'proposals:write',
    operation: `${name}Proposal`,
    summary,
    params,
    answers: { 201: followUp },
    problems: [...[kinds.notFound, ...refusedKinds, kinds.followed, kinds.nothing, kinds.outdated]],
    idempotent: true,
  }).handle(async ({ tx, params: { id }, principal }) =>
    followUpAnswer(id, await make(tx, { id, actor: principal.sub })),
  );

export const decisionRoutes = (options: ProposingOptions): readonly Route[] => [
  ...decisions(),
  followUpRoute({
    name: 'continue',
    summary: 'Propose the steps that are left of a plan that failed',
    make: (tx, asked) => continuePlan(tx, options, asked),
  }),
  followUpRoute({
    name: 'compensate',
    summary: 'Propose what undoes the committed steps of a plan, the last one first',
    make: (tx, asked) => compensatePlan(tx, options, asked),
  }),
];
