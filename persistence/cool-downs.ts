// Channels and destinations that are not to be asked before a time. Written with the end of the
// delivery that met the refusal; read by every worker before it claims and before it sends.
//
// - A longer cool-down is never shortened by a shorter one.
// - What has passed is left until the next one of the same name, or until retention.
// - `until` is the database's clock. Callers get the milliseconds that are left.

import { sql } from 'kysely';
import type { Database } from './database.ts';
import { storable } from './text.ts';
import type { Tx } from './transaction.ts';

export interface NewCoolDown {
  readonly channel: string;
  /** Empty: the whole channel. */
  readonly destination: string;
  /** Null: until somebody lifts it. */
  readonly ms: number | null;
  readonly reason: string;
}

export interface CoolDown {
  readonly channel: string;
  readonly destination: string;
  /** Milliseconds that are left; Infinity where only a person can end it. */
  readonly leftMs: number;
  readonly reason: string;
}

const longestReason = 2000;

/** Cools a channel or a destination down, or keeps what is already longer. */
export async function coolDown(tx: Tx, given: NewCoolDown): Promise<void> {
  const { channel, destination, ms } = given;
  const reason = storable(given.reason, longestReason);
  await sql`
    insert into fencepost.cool_down (channel, destination, until, reason)
    values (${channel}, ${destination},
      case when ${ms}::float8 is null then 'infinity'::timestamptz
        else clock_timestamp() + ${ms}::float8 * interval '1 millisecond' end, ${reason})
    on conflict (channel, destination) do update
      set until = excluded.until, reason = excluded.reason, at = excluded.at
      where cool_down.until < excluded.until`.execute(tx);
}

/** Reads the cool-downs of a channel that have not passed. */
export async function readCoolDowns(
  db: Database['db'] | Tx,
  channel: string,
): Promise<readonly CoolDown[]> {
  const { rows } = await sql<CoolDown>`
    select channel, destination, reason,
      case when until = 'infinity' then 'Infinity'::float8
        else extract(epoch from until - clock_timestamp())::float8 * 1000 end as "leftMs"
    from fencepost.cool_down
    where channel = ${channel} and until > clock_timestamp()`.execute(db);
  return rows;
}

/** Lifts a cool-down before its time. Returns whether there was one. */
export async function liftCoolDown(tx: Tx, channel: string, destination: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from fencepost.cool_down
    where channel = ${channel} and destination = ${destination}`.execute(tx);
  return numAffectedRows > 0n;
}
