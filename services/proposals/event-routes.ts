// The stream of one plan: its decisions, and its steps as they are committed.

import { z } from 'zod';
import { proposal as machine } from '../../machines/proposal.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { readProposal } from '../../persistence/proposals.ts';
import { transaction } from '../../persistence/transaction.ts';
import { problem } from '../http/problem.ts';
import { eventRoute, type Route } from '../http/route.ts';
import { proposalId, receipt, status, transition, transitionAnswer } from './answers.ts';
import { type FollowOptions, followPlan, type PlanEvent } from './follow.ts';
import { kinds, missing } from './problems.ts';

const events = {
  transition,
  step: z.strictObject({ seq: z.int(), ...receipt.shape }).meta({ id: 'StepEvent' }),
  ended: z
    .strictObject({ seq: z.int(), status, reason: z.string().nullable() })
    .meta({ id: 'EndedEvent' }),
};

function printed(told: PlanEvent) {
  const { seq } = told;
  const id = String(seq);
  switch (told.event) {
    case 'transition':
      return { event: told.event, data: transitionAnswer(told.entry), id };
    case 'step':
      return { event: told.event, data: { seq, ...told.receipt }, id };
    case 'ended': {
      const { reason } = told;
      const data = { seq, status: told.status as z.input<typeof status>, reason };
      return { event: told.event, data, id };
    }
    default:
      return told satisfies never;
  }
}

const readHealed = (database: Database, id: string) =>
  transaction(database, async (tx) => {
    await heal(tx, machine, id);
    return await readProposal(tx, id);
  });

export const eventRoutes = (options: FollowOptions): readonly Route[] => [
  eventRoute({
    path: '/v1/proposals/{id}/events',
    scope: 'proposals:read',
    operation: 'followProposal',
    summary: 'Follow what happens to a proposal, step by step',
    description:
      'It begins with what has happened, or behind Last-Event-ID, and ends with `ended`: a ' +
      'client that has seen it closes the stream.',
    params: z.strictObject({ id: proposalId }),
    events,
    problems: [kinds.notFound, kinds.unknownEvent],
  }).handle(async ({ params: { id }, lastEventId = '0', signal }) => {
    const row = await readHealed(options.database, id);
    if (!row) return missing(id);
    const after = /^\d{1,10}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
    if (!(after <= row.seq)) {
      return problem(kinds.unknownEvent, 'Last-Event-ID is no id of an event of this stream.');
    }
    return (async function* () {
      for await (const told of followPlan(options, { id, after, signal })) yield printed(told);
    })();
  }),
];
