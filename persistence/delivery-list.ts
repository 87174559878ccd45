// Deliveries in a list, newest first, a page at a time.
//
// - The order is that of the ids, which are made in the order of time; a page goes on behind an id.
// - A page costs a bounded time whatever is asked for: where a destination is, which no index
//   knows, it looks at so many deliveries at most and says how far it came.
// - The status is written into the text, so that the partial indexes of each can serve it.

import { type Kysely, type RawBuilder, sql } from 'kysely';
import { isFinal, isLeased } from '../machines/arrows.ts';
import { outbox } from '../machines/outbox.ts';
import type { StatusOf } from '../machines/status-machine.ts';
import type { Schema } from './schema.ts';

export interface DeliveryFilter {
  readonly status?: StatusOf<typeof outbox> | undefined;
  readonly channel?: string | undefined;
  /** The domain of an address, the origin of a URL. */
  readonly destination?: string | undefined;
  /** ISO 8601: created at or after. */
  readonly from?: string | undefined;
  /** ISO 8601: created before. */
  readonly to?: string | undefined;
}

export interface DeliveryPage {
  readonly limit: number;
  /** Only what is older than this id. */
  readonly before?: string | undefined;
}

export interface ListedDelivery {
  readonly id: string;
  readonly status: string;
  readonly channel: string;
  readonly recipient: string;
  readonly message_key: string;
  readonly enqueued_by: string | null;
  readonly redrive_of: string | null;
  readonly attempts: number;
  readonly failures: number;
  readonly lease_losses: number;
  readonly maybe_twice: boolean;
  readonly last_error: string | null;
  readonly created_at: number;
  readonly next_attempt_at: number;
  readonly finished_at: number | null;
}

const mostLookedAt = 10_000;

function statusIs(status: StatusOf<typeof outbox>): RawBuilder<boolean> {
  const is = sql<boolean>`status = ${sql.lit(status)}`;
  // What goes without saying, said for the planner: the partial indexes are on these.
  if (isFinal(outbox, status)) return sql`${is} and finished_at is not null`;
  if (isLeased(outbox, status)) return sql`${is} and lease_expires_at is not null`;
  return is;
}

const destination = sql`case channel
  when 'email' then lower(split_part(recipient, '@', -1))
  when 'webhook' then substring(recipient from '^https?://[^/?#]+') end`;

/**
 * Lists deliveries, newest first.
 * @returns at most `limit` rows, and the id behind which the next page goes on: undefined at the
 * end. A page may be short, or empty, and not the last one.
 */
export async function listDeliveries(
  db: Kysely<Schema>,
  filter: DeliveryFilter,
  { limit, before }: DeliveryPage,
): Promise<{ readonly rows: readonly ListedDelivery[]; readonly next: string | undefined }> {
  const { status, channel, from, to } = filter;
  const every = [
    sql`true`,
    ...(before === undefined ? [] : [sql`id < ${before}::uuid`]),
    ...(status === undefined ? [] : [statusIs(status)]),
    ...(channel === undefined ? [] : [sql`channel = ${channel}`]),
    ...(from === undefined ? [] : [sql`created_at >= ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`created_at < ${to}::timestamptz`]),
  ];
  const bounded = filter.destination !== undefined;
  const window = bounded ? mostLookedAt : limit + 1;
  const chosen = bounded ? sql`${destination} = ${filter.destination}` : sql`true`;
  const { rows } = await sql<ListedDelivery & { looked: number; last: string | null }>`
    with looked as materialized (
      select id, status, channel, recipient, message_key, enqueued_by, redrive_of, attempts,
        failures, lease_losses, maybe_twice, last_error, created_at, next_attempt_at, finished_at
      from fencepost.delivery where ${sql.join(every, sql` and `)}
      order by id desc limit ${window}),
    page as (select * from looked where ${chosen} order by id desc limit ${limit + 1}),
    bounds as (select count(*) as looked, (select id from looked order by id limit 1) as last from looked)
    select page.*, bounds.looked, bounds.last from bounds left join page on true
    order by page.id desc`.execute(db);
  const [first] = rows;
  const found = rows.filter((row) => row.id !== null);
  const page = found.slice(0, limit);
  if (found.length > limit) return { rows: page, next: page.at(-1)?.id };
  const isCut = bounded && first !== undefined && first.looked >= window;
  return { rows: page, next: isCut ? (first.last ?? undefined) : undefined };
}
