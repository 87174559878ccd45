// The plain contestant of the benchmarks: the same table without triggers, and the same steps
// without fence, guards, ordered locks and journal. And how a table is filled for a round.

import type pg from 'pg';
import { v7 as newId } from 'uuid';
import { outbox } from '../machines/outbox.ts';
import { create } from '../persistence/create.ts';
import { transaction } from '../persistence/transaction.ts';
import type { BenchServer } from './postgres.ts';

export type Table = 'plain.delivery' | 'fencepost.delivery';

export const plainTable = `
  drop schema if exists plain cascade;
  create schema plain
    create table delivery (like fencepost.delivery including all)`;

export const plainClaim = {
  name: 'plain claim',
  text: `update plain.delivery r set status = 'processing', attempts = r.attempts + 1,
      lease_owner = $1, lease_expires_at = clock_timestamp() + interval '5 minutes'
    where id = any(array(select id from plain.delivery where status = 'pending' and channel = 'email'
        and next_attempt_at <= statement_timestamp()
      order by next_attempt_at limit $2 for no key update skip locked))
    returning id, attempts, channel, recipient, payload, message_key`,
};
const plainComplete = {
  name: 'plain complete',
  text: `update plain.delivery r set status = 'sent', finished_at = clock_timestamp(),
      lease_owner = null, lease_expires_at = null
    from unnest($1::uuid[], $2::int4[]) as e(id, fence)
    where r.id = e.id and r.attempts = e.fence and r.status = 'processing' returning r.id`,
};

export const delivery = (i: number) => ({
  channel: 'email',
  recipient: `reader-${i}@example.com`,
  payload: JSON.stringify({ subject: 'Hello', body: 'It survived.'.repeat(10) }),
  message_key: `<${i}@fencepost.local>`,
});

export const plainInsert = {
  name: 'plain insert',
  text: `insert into plain.delivery (id, definition, channel, recipient, payload, message_key)
    select e.id, 1, e.channel, e.recipient, e.payload, e.message_key
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
      as e(id, channel, recipient, payload, message_key)`,
};
export const plainValues = (deliveries: readonly ReturnType<typeof delivery>[]) => [
  deliveries.map(() => newId()),
  deliveries.map((row) => row.channel),
  deliveries.map((row) => row.recipient),
  deliveries.map((row) => row.payload),
  deliveries.map((row) => row.message_key),
];

/** Takes away every delivery and its journal; the guards, which refuse that, look away. */
export async function empty(pool: pg.Pool): Promise<void> {
  await pool.query(`begin; set local session_replication_role = replica;
    truncate fencepost.delivery, fencepost.journal; commit`);
}

/** Both tables start a round with nothing but the rows of the round. */
export async function fill({ database, pool }: BenchServer, table: Table, rows: number) {
  const plain = table === 'plain.delivery';
  if (plain) await pool.query(plainTable);
  else await empty(pool);
  for (let i = 0; i < rows; i += 1000) {
    const part = Array.from({ length: 1000 }, (_, j) => delivery(i + j));
    if (plain) await pool.query({ ...plainInsert, values: plainValues(part) });
    else await transaction(database, (tx) => create(tx, outbox, part));
  }
  await pool.query(`vacuum analyze ${table}`);
  await pool.query('vacuum analyze fencepost.journal');
  await pool.query('checkpoint');
}

export function plainLoop(pool: pg.Pool, limit: number) {
  return async () => {
    const client = await pool.connect();
    try {
      for (let moved = 0; ; ) {
        const claimed = await client.query({ ...plainClaim, values: ['bench', limit] });
        if (claimed.rows.length === 0) return moved;
        const ids = claimed.rows.map((row) => row.id);
        const fences = claimed.rows.map((row) => row.attempts);
        const { rowCount } = await client.query({ ...plainComplete, values: [ids, fences] });
        moved += rowCount ?? 0;
      }
    } finally {
      client.release();
    }
  };
}
