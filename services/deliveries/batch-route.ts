// Enqueues many deliveries in one request, with an answer a row.
//
// - A row that is wrong is refused by itself; the others are enqueued, in one transaction.

import { z } from 'zod';
import { readPart } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { enqueuedRows } from './answers.ts';
import { enqueueMany } from './enqueue.ts';
import type { NewDelivery } from './new-delivery.ts';

export interface BatchRouteOptions {
  readonly sender: string;
  readonly newDelivery: z.ZodType<NewDelivery>;
}

const mostRows = 1000;
const mostBytes = 16 * 1_048_576;

type Row = z.input<typeof enqueuedRows>['items'][number];

export const enqueueBatchRoute = ({ sender, newDelivery }: BatchRouteOptions): Route =>
  route({
    method: 'post',
    path: '/v1/deliveries/batch',
    scope: 'deliveries:write',
    summary: 'Enqueue many deliveries, with an answer a row',
    description:
      'Each row is what POST /v1/deliveries takes. Answers are in the order of the rows.',
    operation: 'enqueueDeliveries',
    body: z.strictObject({
      deliveries: z
        .array(z.unknown())
        .min(1)
        .max(mostRows)
        .meta({ description: `Up to ${mostRows}, each as for one delivery` }),
    }),
    mostBytes,
    answers: { 200: enqueuedRows },
    idempotent: true,
  }).handle(async ({ tx, body, principal }) => {
    const read = body.deliveries.map((each, i) => readPart(newDelivery, each, ['deliveries', i]));
    const good = read.flatMap((row) => ('data' in row ? [row.data] : []));
    const ids = await enqueueMany(tx, good, { sender, actor: principal.sub });
    let next = 0;
    const items = read.map((row): Row => {
      if ('errors' in row) return { outcome: 'refused', errors: [...row.errors] };
      const id = ids[next] ?? '';
      next += 1;
      return { outcome: 'accepted', id };
    });
    const refused = items.length - good.length;
    return { status: 200, body: { accepted: good.length, refused, items } };
  });
