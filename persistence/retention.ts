// The end of what is over: finished deliveries, lost writes, passed cool-downs, kept answers, old
// mails of the development mailbox. services/deliveries/retention.ts calls each until it deletes no
// more.
//
// - Bounded: each call deletes at most `limit` rows, oldest first, in a statement of its own.
// - Rows that somebody holds are skipped, so any number of processes may do this at once.
// - A delivery takes its journal with it; a trigger sees to that.
// - A kept answer stays as long as the run to which it points is not at its end, whatever its age:
//   who asks again for the same work must not get it twice.
// - A redrive stays as long as what it redrives: without it the old one could be redriven again.

import { type RawBuilder, sql } from 'kysely';
import { machines } from '../machines/all.ts';
import { isFinal } from '../machines/arrows.ts';
import { literal, qualified } from './print.ts';
import type { Tx } from './transaction.ts';

export interface Bounds {
  readonly olderThanMs: number;
  readonly limit: number;
}

async function deleted(tx: Tx, statement: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows = 0n } = await statement.execute(tx);
  return Number(numAffectedRows);
}

/**
 * The statement by itself, so that its plan can be looked at. NOT EXISTS would be planned as a hash
 * over the whole table; a scalar subquery is a look at one row, for redrives only.
 */
export const finishedStatement = (status: string, { olderThanMs, limit }: Bounds) => sql`
  delete from fencepost.delivery where id = any(array(
    select d.id from fencepost.delivery d
    where d.status = ${status}
      and d.finished_at < statement_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
      and (d.redrive_of is null
        or (select true from fencepost.delivery old where old.id = d.redrive_of) is null)
    order by d.finished_at limit ${limit} for update of d skip locked))`;

/** Deletes deliveries that finished in this status longer ago. Returns how many. */
export const deleteFinished = (tx: Tx, status: string, bounds: Bounds): Promise<number> =>
  deleted(tx, finishedStatement(status, bounds));

/** Deletes the record of writes that were lost longer ago. Returns how many. */
export async function deleteLostWrites(tx: Tx, { olderThanMs, limit }: Bounds): Promise<number> {
  const statement = sql`
  delete from fencepost.lost_write where ctid = any(array(
    select ctid from fencepost.lost_write
    where at < statement_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
    order by at limit ${limit} for update skip locked))`;
  return await deleted(tx, statement);
}

/** Deletes cool-downs that have passed. Returns how many. */
export async function deletePassedCoolDowns(tx: Tx, limit: number): Promise<number> {
  const statement = sql`
  delete from fencepost.cool_down where ctid = any(array(
    select ctid from fencepost.cool_down where until < statement_timestamp()
    limit ${limit} for update skip locked))`;
  return await deleted(tx, statement);
}

const lives = machines
  .map((machine) => {
    const going = Object.keys(machine.states).filter((status) => !isFinal(machine, status));
    return `exists (select from ${qualified(machine.table)} run
      where run.id = kept.run and run.status in (${going.map(literal).join(', ')}))`;
  })
  .join(' or ');

/** Deletes answers that were kept for an Idempotency-Key for so long. Returns how many. */
export async function deleteKeptAnswers(tx: Tx, { olderThanMs, limit }: Bounds): Promise<number> {
  const statement = sql`
  delete from fencepost.idempotency where ctid = any(array(
    select ctid from fencepost.idempotency kept
    where at < statement_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
      and (run is null or not (${sql.raw(lives)}))
    order by at limit ${limit} for update of kept skip locked))`;
  return await deleted(tx, statement);
}

/** Deletes mails of the development mailbox but the newest `keep`. Returns how many. */
export async function deleteOldMails(tx: Tx, keep: number, limit: number): Promise<number> {
  const statement = sql`
  delete from fencepost.mailbox where id = any(array(
    select id from fencepost.mailbox
    where id <= (select id from fencepost.mailbox order by id desc offset ${keep} limit 1)
    order by id limit ${limit} for update skip locked))`;
  return await deleted(tx, statement);
}
