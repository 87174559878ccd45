// Enqueues mails: in the caller's transaction, so that a delivery exists exactly when what caused
// it does. What is sent is frozen here; a later change of sender or template changes no retry.

import { randomUUID } from 'node:crypto';
import { outbox } from '../../machines/outbox.ts';
import { create } from '../../persistence/create.ts';
import type { Tx } from '../../persistence/transaction.ts';
import type { EmailPayload } from './email.ts';
import type { NewDelivery } from './new-delivery.ts';

/** Creates one delivery by mail, due at once, and returns its id. */
export async function enqueueEmail(tx: Tx, email: NewDelivery, sender: string): Promise<string> {
  const { to, subject, body } = email;
  const payload: EmailPayload = { from: sender, subject, body };
  const [id] = await create(tx, outbox, [
    {
      channel: 'email',
      recipient: to,
      payload: JSON.stringify(payload),
      message_key: `<${randomUUID()}@fencepost.local>`,
    },
  ]);
  if (id === undefined) throw new Error('one delivery was created and no id came back');
  return id;
}
