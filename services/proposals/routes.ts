// The proposals' HTTP API: propose a plan, list them, look at one with all that happened to it, and
// the tools that plans are made of. Decisions, execution and the stream have files of their own.

import { z } from 'zod';
import { transaction } from '../../persistence/transaction.ts';
import { badCursor, pageOf, pageQuery, printCursor, readCursor } from '../http/keyset.ts';
import { frame } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import {
  listed,
  listedAnswer,
  proposal,
  proposalAnswer,
  proposalId,
  proposed,
  status,
  toolAnswer,
  toolDescription,
} from './answers.ts';
import { decisionRoutes } from './decision-routes.ts';
import { eventRoutes } from './event-routes.ts';
import { type ExecuteRoutesOptions, executeRoutes } from './execute-routes.ts';
import type { Executor } from './executor.ts';
import { kinds, missing, planProblem } from './problems.ts';
import { newProposal, type ProposingOptions, propose, storableText } from './propose.ts';
import { list, show } from './show.ts';

export interface ProposalRoutesOptions extends ExecuteRoutesOptions, ProposingOptions {
  readonly executor: Pick<Executor, 'execute' | 'watch'>;
  /** How long a stream waits for steps of other processes before it looks again. */
  readonly pauseMs?: number;
}

const mostBytes = 8 * 1_048_576;
const usualPauseMs = 1000;
const params = z.strictObject({ id: proposalId });
const position = z.strictObject({ after: z.uuid() });
const first = { after: undefined };
const query = z.strictObject({
  status: status.optional(),
  proposer: storableText(2000).optional(),
  ...pageQuery,
});

export function proposalRoutes(options: ProposalRoutesOptions): readonly Route[] {
  const { database, tools, executor, pauseMs = usualPauseMs } = options;

  const create = route({
    method: 'post',
    path: '/v1/proposals',
    scope: 'proposals:write',
    operation: 'proposePlan',
    summary: 'Propose a plan',
    description:
      "Every step is checked against its tool's schema, which GET /v1/tools has. Nothing is " +
      'stored where one has a mistake.',
    body: newProposal,
    mostBytes,
    exact: true,
    answers: { 201: proposed },
    problems: [kinds.invalid],
    idempotent: true,
  }).handle(async ({ tx, body, principal }) => {
    const outcome = await propose(tx, options, { ...body, proposer: principal.sub });
    if (outcome.outcome === 'invalid') return planProblem('invalid', outcome.problems);
    const { id, planHash } = outcome;
    const made = { id, planHash, status: 'pending' } as const;
    return { status: 201, body: made, location: `/v1/proposals/${id}` };
  });

  const look = route({
    method: 'get',
    path: '/v1/proposals/{id}',
    scope: 'proposals:read',
    operation: 'getProposal',
    summary: 'Look at a proposal: its plan, its receipts, and what can be done about it',
    params,
    answers: { 200: proposal },
    problems: [kinds.notFound],
  }).handle(async ({ params: { id }, principal }) => {
    const shown = await transaction(database, (tx) => show(tx, tools, id));
    return shown ? { status: 200, body: proposalAnswer(shown, principal) } : missing(id);
  });

  const page = route({
    method: 'get',
    path: '/v1/proposals',
    scope: 'proposals:read',
    operation: 'listProposals',
    summary: 'List proposals, newest first',
    query,
    answers: { 200: pageOf(listed).meta({ id: 'ProposalPage' }) },
    problems: [frame.invalidQuery],
  }).handle(async ({ query: { limit, cursor, ...filter } }) => {
    const read = cursor === undefined ? first : readCursor(cursor, filter, position);
    if (read === undefined) return badCursor();
    // One more than asked for says whether there is another page.
    const wanted = { ...filter, ...read, limit: limit + 1 };
    const rows = await transaction(database, (tx) => list(tx, wanted));
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    const next = last ? printCursor(filter, { after: last.id }) : null;
    return { status: 200, body: { items: items.map(listedAnswer), next } };
  });

  const describe = route({
    method: 'get',
    path: '/v1/tools',
    scope: 'proposals:read',
    operation: 'listTools',
    summary: 'List the tools that plans are made of, with JSON Schemas of their arguments',
    answers: { 200: z.strictObject({ items: z.array(toolDescription) }) },
  }).handle(async () => ({ status: 200, body: { items: tools.describe().map(toolAnswer) } }));

  return [
    ...[create, page, look],
    ...decisionRoutes(options),
    ...executeRoutes(options),
    ...eventRoutes({ database, executor, pauseMs }),
    describe,
  ];
}
