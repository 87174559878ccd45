// The tool `delivery.enqueue`: a message, enqueued in the step's own transaction. It is sent if and
// only if the step is committed.

import { defineTool } from '../proposals/tools.ts';
import { enqueue } from './enqueue.ts';
import { type DeliveryRules, deliverySchema } from './new-delivery.ts';

export interface DeliveryToolOptions extends DeliveryRules {
  /** Who mails are from. */
  readonly sender: string;
}

export const deliveryTool = ({ sender, webhooks }: DeliveryToolOptions) =>
  defineTool({
    name: 'delivery.enqueue',
    version: 1,
    description: 'Sends a message: a mail, or a webhook where these are configured.',
    risk: 'medium',
    input: deliverySchema({ ...(webhooks && { webhooks }) }),
    run: async (tx, delivery) => ({ id: await enqueue(tx, delivery, { sender }) }),
    inverse: () => ({ reason: 'A message that was sent cannot be called back.' }),
    sentence: (delivery) =>
      delivery.channel === 'email'
        ? `Sends the mail “${delivery.subject}” to ${delivery.to}.`
        : `Calls the webhook ${delivery.to}.`,
  });
