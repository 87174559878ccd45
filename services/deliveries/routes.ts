// The deliveries' HTTP API: enqueue one, and look at one with all that happened to it.

import { Router } from 'express';
import { outbox } from '../../machines/outbox.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { readDelivery, readDeliveryJournal } from '../../persistence/deliveries.ts';
import { printInstant } from '../../persistence/instant.ts';
import { transaction } from '../../persistence/transaction.ts';
import { isUuid } from '../../persistence/values.ts';
import { jsonBody, readBody } from '../http/input.ts';
import { Problem } from '../http/problem.ts';
import { enqueueEmail } from './enqueue.ts';
import { newDelivery } from './new-delivery.ts';

export interface DeliveryRoutesOptions {
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
      journal: journal.map((entry) => ({ ...entry, at: printInstant(entry.at) })),
    };
  });
}

export function deliveryRoutes({ database, sender }: DeliveryRoutesOptions): Router {
  const router = Router();

  router.post('/v1/deliveries', ...jsonBody, async (request, response) => {
    const delivery = readBody(request, newDelivery);
    const id = await transaction(database, (tx) => enqueueEmail(tx, delivery, sender));
    response.status(202).location(`/v1/deliveries/${id}`).json({ id, status: outbox.initial });
  });

  router.get('/v1/deliveries/:id', async (request, response) => {
    const { id } = request.params;
    if (!isUuid(id)) throw new Problem('malformed_id', 'A delivery is named by a UUID.');
    const delivery = await showDelivery(database, id);
    if (!delivery) throw new Problem('delivery_not_found', `No delivery has the id ${id}.`);
    response.json(delivery);
  });

  return router;
}
