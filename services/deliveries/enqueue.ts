// Enqueues deliveries: in the caller's transaction, so that a delivery exists exactly when what
// caused it does. What is sent is frozen here; a later change of sender, template or serializer
// changes no retry.

import { randomUUID } from 'node:crypto';
import { outbox } from '../../machines/outbox.ts';
import { create, type NewRun } from '../../persistence/create.ts';
import type { Tx } from '../../persistence/transaction.ts';
import type { EmailPayload } from './email.ts';
import type { NewDelivery, NewEmail, NewWebhook } from './new-delivery.ts';

export interface EnqueueOptions {
  /** Who mails are from. It is frozen into each of them. */
  readonly sender: string;
  /** Who has them enqueued. */
  readonly actor?: string;
}

const mostAtOnce = 1000;

function emailRun({ to, subject, body }: NewEmail, from: string): NewRun<typeof outbox> {
  const payload: EmailPayload = { from, subject, body };
  return {
    channel: 'email',
    recipient: to,
    payload: JSON.stringify(payload),
    message_key: `<${randomUUID()}@fencepost.local>`,
  };
}

/** The payload is the body, byte for byte: what Standard Webhooks advises a body to look like. */
function webhookRun({ to, type, data }: NewWebhook): NewRun<typeof outbox> {
  const timestamp = new Date().toISOString();
  return {
    channel: 'webhook',
    recipient: to,
    payload: JSON.stringify({ ...(type !== undefined && { type }), timestamp, data }),
    message_key: `msg_${randomUUID()}`,
  };
}

/**
 * Creates deliveries, due at once, in one statement: all or none.
 * @returns their ids, in order.
 * @throws RangeError for more than 1,000; cut larger sets into several calls.
 */
export async function enqueueMany(
  tx: Tx,
  deliveries: readonly NewDelivery[],
  { sender, actor }: EnqueueOptions,
): Promise<readonly string[]> {
  if (deliveries.length > mostAtOnce) {
    throw new RangeError(`at most ${mostAtOnce} deliveries at once, not ${deliveries.length}`);
  }
  const runs = deliveries.map((each) => ({
    ...(each.channel === 'email' ? emailRun(each, sender) : webhookRun(each)),
    ...(actor !== undefined && { enqueued_by: actor }),
  }));
  return await create(tx, outbox, runs);
}

/** Creates one delivery, due at once, and returns its id. */
export async function enqueue(
  tx: Tx,
  delivery: NewDelivery,
  options: EnqueueOptions,
): Promise<string> {
  const [id] = await enqueueMany(tx, [delivery], options);
  if (id === undefined) throw new Error('one delivery was created and no id came back');
  return id;
}
