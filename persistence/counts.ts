// How many runs are in each status, for people: counted up to a bound, because nobody needs to know
// whether it is 10,001 or ten million, and counting that far reads them all.
//
// - Leased runs are found by their lease, which the index of lapsed ones has; a waiting status by
//   the index that claims go by. A final status that is rare in a large table is looked for in all
//   of it, within the statement's limit of time.

import { sql } from 'kysely';
import { isLeased } from '../machines/arrows.ts';
import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import { identifier, literal, qualified } from './print.ts';
import type { Tx } from './transaction.ts';

/** Counts the runs of each status, each up to `most` and one. Statuses without any are 0. */
export async function countByStatus(
  db: Database['db'] | Tx,
  machine: Machine,
  most: number,
): Promise<ReadonlyMap<string, number>> {
  const counted = Object.keys(machine.states).map((status) => {
    const held = isLeased(machine, status) ? ` and ${identifier(machine.lease)} is not null` : '';
    return `select ${literal(status)}::text as status, (select count(*) from (
  select from ${qualified(machine.table)} where status = ${literal(status)}${held} limit ${most + 1}) runs)::int4 as runs`;
  });
  const { rows } = await sql
    .raw<{ status: string; runs: number }>(counted.join('\nunion all\n'))
    .execute(db);
  return new Map(rows.map(({ status, runs }) => [status, runs]));
}
