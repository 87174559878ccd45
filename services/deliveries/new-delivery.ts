// What may be enqueued: a shape for each channel, told apart by `channel`. routes.ts parses with
// it; enqueue.ts takes only what was parsed.

import { z } from 'zod';
import { newEmail } from './new-email.ts';
import { newWebhook, type WebhookRules } from './new-webhook.ts';

export type NewEmail = z.output<typeof newEmail>;
export type NewWebhook = z.output<ReturnType<typeof newWebhook>>;
/** Only the schema below makes one. */
export type NewDelivery = NewEmail | NewWebhook;

export interface DeliveryRules {
  /** Given where webhooks are sent. Without it there is no such channel. */
  readonly webhooks?: WebhookRules;
}

const unknown = (known: string) => ({ error: `There is no such channel. Known: ${known}.` });

/** @throws Error for a range that is not in CIDR notation. */
export const deliverySchema = ({ webhooks }: DeliveryRules): z.ZodType<NewDelivery> =>
  webhooks
    ? z.discriminatedUnion('channel', [newEmail, newWebhook(webhooks)], unknown('email, webhook'))
    : z.discriminatedUnion('channel', [newEmail], unknown('email'));
