// The deliveries' HTTP API: enqueue one, look at one with all that happened to it, redrive one.

import { Router } from 'express';
import { outbox } from '../../machines/outbox.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { readDelivery, readDeliveryJournal, readRedrive } from '../../persistence/deliveries.ts';
import { printInstant } from '../../persistence/instant.ts';
import { transaction } from '../../persistence/transaction.ts';
import { isUuid } from '../../persistence/values.ts';
import { jsonBody, readBody } from '../http/input.ts';
import { Problem } from '../http/problem.ts';
import { enqueue } from './enqueue.ts';
import { type DeliveryRules, deliverySchema } from './new-delivery.ts';
import { redrive } from './redrive.ts';

export interface DeliveryRoutesOptions extends DeliveryRules {
  readonly database: Database;
  /** Who mails are from. It is frozen into each delivery. */
  readonly sender: string;
}

/** Reads a delivery as it is after its lease was judged: a lapsed one is not shown as running. */
async function showDelivery(database: Database, id: string) {
  return await transaction(database, async (tx) => {
    await heal(tx, outbox, id);
    const delivery = await readDelivery(tx, id);
    if (!delivery) return undefined;
    const journal = await readDeliveryJournal(tx, id);
    const { finished_at: finishedAt } = delivery;
    return {
      ...delivery,
      created_at: printInstant(delivery.created_at),
      next_attempt_at: printInstant(delivery.next_attempt_at),
      give_up_at: printInstant(delivery.give_up_at),
      finished_at: finishedAt === null ? null : printInstant(finishedAt),
      redriven_by: (await readRedrive(tx, id)) ?? null,
      journal: journal.map((entry) => ({ ...entry, at: printInstant(entry.at) })),
    };
  });
}

function readId(id: string): string {
  if (!isUuid(id)) throw new Problem('malformed_id', 'A delivery is named by a UUID.');
  return id;
}

const notFound = (id: string) => new Problem('delivery_not_found', `No delivery has the id ${id}.`);

/** @throws Problem where there is nothing to redrive. */
async function redriven(database: Database, id: string): Promise<string> {
  const outcome = await transaction(database, (tx) => redrive(tx, id));
  switch (outcome.outcome) {
    case 'redriven':
      return outcome.id;
    case 'missing':
      throw notFound(id);
    case 'refused':
      throw new Problem(
        'not_redrivable',
        `It is "${outcome.status}". Only what is "failed" or "dead" can be redriven.`,
      );
    case 'conflict':
      throw new Problem(
        'already_redriven',
        `Delivery ${outcome.id} is its redrive. Look at that one, and redrive it if need be.`,
      );
    default:
      return outcome satisfies never;
  }
}

export function deliveryRoutes({ database, sender, webhooks }: DeliveryRoutesOptions): Router {
  const router = Router();
  const newDelivery = deliverySchema({ ...(webhooks && { webhooks }) });

  router.post('/v1/deliveries', ...jsonBody, async (request, response) => {
    const delivery = readBody(request, newDelivery);
    const id = await transaction(database, (tx) => enqueue(tx, delivery, { sender }));
    response.status(202).location(`/v1/deliveries/${id}`).json({ id, status: outbox.initial });
  });

  router.get('/v1/deliveries/:id', async (request, response) => {
    const id = readId(request.params.id);
    const delivery = await showDelivery(database, id);
    if (!delivery) throw notFound(id);
    response.json(delivery);
  });

  router.post('/v1/deliveries/:id/redrive', async (request, response) => {
    const old = readId(request.params.id);
    const id = await redriven(database, old);
    const answer = { id, status: outbox.initial, redrive_of: old };
    response.status(202).location(`/v1/deliveries/${id}`).json(answer);
  });

  return router;
}
