// Deliveries as the API shows them: the shapes of its answers, and how a row becomes one.

import { z } from 'zod';
import { outbox } from '../../machines/outbox.ts';
import type { StatusOf } from '../../machines/status-machine.ts';
import type { readDelivery, readDeliveryJournal } from '../../persistence/deliveries.ts';
import type { ListedDelivery } from '../../persistence/delivery-list.ts';
import { printInstant } from '../../persistence/instant.ts';
import { fieldProblem } from '../http/problem.ts';
import type { Principal } from '../http/route.ts';
import { choice, choicesFor } from '../machines/choices.ts';

type Status = StatusOf<typeof outbox>;

export const status = z
  .enum(Object.keys(outbox.states) as [Status, ...Status[]])
  .meta({ id: 'DeliveryStatus' });
export const deliveryId = z.uuid().meta({ id: 'DeliveryId', description: 'Names a delivery' });
export const instant = z.iso.datetime().meta({ description: 'UTC, to the microsecond' });

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

const attempt = z
  .strictObject({
    number: z.int(),
    worker: z.string(),
    begunAt: instant,
    endedAt: instant.nullable(),
    endedBy: z.string().nullable().meta({ description: 'The event that ended it. Null: it runs' }),
    became: z.string().nullable(),
  })
  .meta({ id: 'Attempt' });

const common = {
  id: deliveryId,
  status,
  channel: z.string(),
  recipient: z.string(),
  messageKey: z.string().meta({ description: 'By this a receiver can drop a duplicate' }),
  enqueuedBy: z.string().nullable().meta({ description: 'Null: not by a request' }),
  redriveOf: deliveryId.nullable(),
  attempts: z.int(),
  failures: z.int().meta({ description: 'Attempts that the receiver saw and that failed' }),
  leaseLosses: z.int().meta({ description: 'How often its worker vanished' }),
  maybeTwice: z.boolean().meta({ description: 'The receiver may have it more than once' }),
  lastError: z.string().nullable(),
  createdAt: instant,
  nextAttemptAt: instant,
  finishedAt: instant.nullable(),
};

export const listed = z.strictObject(common).meta({ id: 'ListedDelivery' });

export const delivery = z
  .strictObject({
    ...common,
    redrivenBy: deliveryId.nullable(),
    receipt: z.unknown().meta({ description: 'What the channel said when it took it' }),
    giveUpAt: instant,
    history: z.array(attempt),
    journal: z.array(journalEntry),
    choices: z.array(choice),
  })
  .meta({ id: 'Delivery' });

export const enqueuedRow = z
  .discriminatedUnion('outcome', [
    z.strictObject({ outcome: z.literal('accepted'), id: deliveryId }),
    z.strictObject({ outcome: z.literal('refused'), errors: z.array(fieldProblem) }),
  ])
  .meta({ id: 'EnqueuedRow' });

export const enqueuedRows = z
  .strictObject({ accepted: z.int(), refused: z.int(), items: z.array(enqueuedRow) })
  .meta({ id: 'EnqueuedRows' });

type Row = NonNullable<Awaited<ReturnType<typeof readDelivery>>>;
type Entry = Awaited<ReturnType<typeof readDeliveryJournal>>[number];

export interface Found {
  readonly row: Row;
  readonly journal: readonly Entry[];
  /** The delivery that a redrive of this one made. */
  readonly redrivenBy: string | undefined;
}

export function listedAnswer(row: ListedDelivery): z.input<typeof listed> {
  return {
    id: row.id,
    status: row.status as Status,
    channel: row.channel,
    recipient: row.recipient,
    messageKey: row.message_key,
    enqueuedBy: row.enqueued_by,
    redriveOf: row.redrive_of,
    attempts: row.attempts,
    failures: row.failures,
    leaseLosses: row.lease_losses,
    maybeTwice: row.maybe_twice,
    lastError: row.last_error,
    createdAt: printInstant(row.created_at),
    nextAttemptAt: printInstant(row.next_attempt_at),
    finishedAt: row.finished_at === null ? null : printInstant(row.finished_at),
  };
}

/** From each claim to what ended it. Renewals are not in the journal. */
function historyOf(journal: readonly Entry[]): z.input<typeof attempt>[] {
  return journal
    .filter(({ event }) => event === 'claim')
    .map((begun) => {
      const end = journal.find(({ fence, seq }) => fence === begun.fence && seq > begun.seq);
      return {
        number: begun.fence,
        worker: begun.actor,
        begunAt: printInstant(begun.at),
        endedAt: end ? printInstant(end.at) : null,
        endedBy: end ? (end.event ?? end.actor) : null,
        became: end?.to_status ?? null,
      };
    });
}

export function deliveryAnswer(
  { row, journal, redrivenBy }: Found,
  principal: Principal,
): z.input<typeof delivery> {
  return {
    ...listedAnswer(row),
    redrivenBy: redrivenBy ?? null,
    receipt: row.receipt,
    giveUpAt: printInstant(row.give_up_at),
    history: historyOf(journal),
    journal: journal.map((entry) => ({
      seq: entry.seq,
      at: printInstant(entry.at),
      event: entry.event,
      actor: entry.actor,
      from: entry.from_status,
      to: entry.to_status,
      fence: entry.fence,
    })),
    choices: choicesFor({
      machine: outbox,
      row,
      at: row.read_at,
      principal,
      scopeOf: () => 'deliveries:write',
      ...(redrivenBy !== undefined && { also: { redrive: 'already_redriven' } }),
    }),
  };
}
