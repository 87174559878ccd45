// The deliveries' HTTP API: enqueue one, look at one with all that happened to it, redrive one.

import { z } from 'zod';
import { outbox } from '../../machines/outbox.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { readDelivery, readDeliveryJournal, readRedrive } from '../../persistence/deliveries.ts';
import { transaction } from '../../persistence/transaction.ts';
import { problem, problemKind } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { accepted, delivery, deliveryAnswer, deliveryId, type Found, redriven } from './answers.ts';
import { enqueue } from './enqueue.ts';
import { type DeliveryRules, deliverySchema } from './new-delivery.ts';
import { redrive } from './redrive.ts';

export interface DeliveryRoutesOptions extends DeliveryRules {
  readonly database: Database;
  /** Who mails are from. It is frozen into each delivery. */
  readonly sender: string;
}

const notFound = problemKind('delivery_not_found', 404, 'There is no such delivery');
const notRedrivable = problemKind(
  'not_redrivable',
  409,
  'This delivery is on its way, or was sent',
  { deliveryStatus: z.string() },
);
const alreadyRedriven = problemKind('already_redriven', 409, 'This delivery was redriven before', {
  redrivenBy: deliveryId,
});

/** Room for the largest mail with every character of it escaped. */
const mostBytes = 8 * 1_048_576;
const params = z.strictObject({ id: deliveryId });
const missing = (id: string) => problem(notFound, `No delivery has the id ${id}.`);
const pathOf = (id: string) => `/v1/deliveries/${id}`;

/** Reads a delivery as it is after its lease was judged: a lapsed one is not shown as running. */
async function find(database: Database, id: string): Promise<Found | undefined> {
  return await transaction(database, async (tx) => {
    await heal(tx, outbox, id);
    const row = await readDelivery(tx, id);
    if (!row) return undefined;
    const journal = await readDeliveryJournal(tx, id);
    return { row, journal, redrivenBy: await readRedrive(tx, id) };
  });
}

export function deliveryRoutes(options: DeliveryRoutesOptions): readonly Route[] {
  const { database, sender, webhooks } = options;

  const create = route({
    method: 'post',
    path: '/v1/deliveries',
    scope: 'deliveries:write',
    summary: 'Enqueue a delivery',
    operation: 'enqueueDelivery',
    body: deliverySchema({ ...(webhooks && { webhooks }) }),
    mostBytes,
    answers: { 202: accepted },
    idempotent: true,
  }).handle(async ({ tx, body, principal }) => {
    const id = await enqueue(tx, body, { sender, actor: principal.sub });
    return { status: 202, body: { id, status: outbox.initial }, location: pathOf(id) };
  });

  const show = route({
    method: 'get',
    path: '/v1/deliveries/{id}',
    scope: 'deliveries:read',
    summary: 'Look at a delivery and what happened to it',
    operation: 'getDelivery',
    params,
    answers: { 200: delivery },
    problems: [notFound],
  }).handle(async ({ params: { id } }) => {
    const found = await find(database, id);
    return found ? { status: 200, body: deliveryAnswer(found) } : missing(id);
  });

  const again = route({
    method: 'post',
    path: '/v1/deliveries/{id}/redrive',
    scope: 'deliveries:write',
    summary: 'Make a new delivery of one that was refused or given up',
    operation: 'redriveDelivery',
    params,
    answers: { 202: redriven },
    problems: [notFound, notRedrivable, alreadyRedriven],
    idempotent: true,
  }).handle(async ({ tx, params: { id: old }, principal }) => {
    const outcome = await redrive(tx, old, principal.sub);
    switch (outcome.outcome) {
      case 'redriven': {
        const { id } = outcome;
        const body = { id, status: outbox.initial, redriveOf: old };
        return { status: 202, body, location: pathOf(id) };
      }
      case 'missing':
        return missing(old);
      case 'refused': {
        const { status: deliveryStatus } = outcome;
        const detail = `It is "${deliveryStatus}". Only what is "failed" or "dead" can be redriven.`;
        return problem(notRedrivable, detail, { members: { deliveryStatus } });
      }
      case 'conflict': {
        const { id: redrivenBy } = outcome;
        const detail = `Delivery ${redrivenBy} is its redrive. Look at that one, and redrive it if need be.`;
        return problem(alreadyRedriven, detail, { members: { redrivenBy } });
      }
      default:
        return outcome satisfies never;
    }
  });

  return [create, show, again];
}
