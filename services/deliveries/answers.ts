// Deliveries as the API shows them: the shapes of its answers, and how a row becomes one.

import { z } from 'zod';
import { outbox } from '../../machines/outbox.ts';
import type { readDelivery, readDeliveryJournal } from '../../persistence/deliveries.ts';
import { printInstant } from '../../persistence/instant.ts';

const status = z
  .enum(Object.keys(outbox.states) as [string, ...string[]])
  .meta({ id: 'DeliveryStatus' });
export const deliveryId = z.uuid().meta({ id: 'DeliveryId', description: 'Names a delivery' });
const instant = z.iso.datetime().meta({ description: 'UTC, to the microsecond' });

export const accepted = z
  .strictObject({ id: deliveryId, status: z.literal(outbox.initial) })
  .meta({ id: 'AcceptedDelivery' });

export const redriven = z
  .strictObject({ id: deliveryId, status: z.literal(outbox.initial), redriveOf: deliveryId })
  .meta({ id: 'RedrivenDelivery' });

const journalEntry = z
  .strictObject({
    seq: z.int(),
    at: instant,
    event: z.string().nullable().meta({ description: 'Null: a write from outside the service' }),
    actor: z.string(),
    from: z.string(),
    to: z.string(),
    fence: z.int(),
  })
  .meta({ id: 'JournalEntry' });

export const delivery = z
  .strictObject({
    id: deliveryId,
    status,
    channel: z.string(),
    recipient: z.string(),
    messageKey: z.string().meta({ description: 'By this a receiver can drop a duplicate' }),
    enqueuedBy: z.string().nullable().meta({ description: 'Null: not by a request' }),
    redriveOf: deliveryId.nullable(),
    redrivenBy: deliveryId.nullable(),
    attempts: z.int(),
    failures: z.int().meta({ description: 'Attempts that the receiver saw and that failed' }),
    leaseLosses: z.int().meta({ description: 'How often its worker vanished' }),
    maybeTwice: z.boolean().meta({ description: 'The receiver may have it more than once' }),
    lastError: z.string().nullable(),
    receipt: z.unknown().meta({ description: 'What the channel said when it took it' }),
    createdAt: instant,
    nextAttemptAt: instant,
    giveUpAt: instant,
    finishedAt: instant.nullable(),
    journal: z.array(journalEntry),
  })
  .meta({ id: 'Delivery' });

type Row = NonNullable<Awaited<ReturnType<typeof readDelivery>>>;
type Entry = Awaited<ReturnType<typeof readDeliveryJournal>>[number];

export interface Found {
  readonly row: Row;
  readonly journal: readonly Entry[];
  /** The delivery that a redrive of this one made. */
  readonly redrivenBy: string | undefined;
}

export function deliveryAnswer({ row, journal, redrivenBy }: Found): z.input<typeof delivery> {
  return {
    id: row.id,
    status: row.status,
    channel: row.channel,
    recipient: row.recipient,
    messageKey: row.message_key,
    enqueuedBy: row.enqueued_by,
    redriveOf: row.redrive_of,
    redrivenBy: redrivenBy ?? null,
    attempts: row.attempts,
    failures: row.failures,
    leaseLosses: row.lease_losses,
    maybeTwice: row.maybe_twice,
    lastError: row.last_error,
    receipt: row.receipt,
    createdAt: printInstant(row.created_at),
    nextAttemptAt: printInstant(row.next_attempt_at),
    giveUpAt: printInstant(row.give_up_at),
    finishedAt: row.finished_at === null ? null : printInstant(row.finished_at),
    journal: journal.map((entry) => ({
      seq: entry.seq,
      at: printInstant(entry.at),
      event: entry.event,
      actor: entry.actor,
      from: entry.from_status,
      to: entry.to_status,
      fence: entry.fence,
    })),
  };
}
