// How many runs are in each status, for people: counted up to a bound, because nobody needs to know
// whether it is 10,001 or ten million, and counting that far reads them all.
//
// - Leased runs are found by their lease, which the index of lapsed ones has; a waiting status by
//   the index that claims go by; a final status by when it was reached, which every arrow into it
//   writes, so that the index of finished runs is good for it. Without such an index, one that is
//   rare in a large table is looked for in all of it, within the statement's limit of time.

import { sql } from 'kysely';
import { arrowsOf, isFinal, isLeased } from '../machines/arrows.ts';
import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import { identifier, literal, qualified } from './print.ts';
import type { Tx } from './transaction.ts';

/** Columns that are filled in for every run that is in the status. */
function filledIn(machine: Machine, status: string): readonly string[] {
  if (isLeased(machine, status)) return [machine.lease];
  if (!isFinal(machine, status)) return [];
  const [first, ...others] = arrowsOf(machine).filter(({ to }) => to === status);
  const isTime = (set: Readonly<Record<string, object>>, column: string) =>
    'clock' in (set[column] ?? {});
  return Object.keys(first?.set ?? {})
    .filter((column) => machine.columns[column] === 'instant?')
    .filter((column) => [first, ...others].every((arrow) => arrow && isTime(arrow.set, column)));
}

/** The statement by itself, so that its plan can be looked at. */
export function countStatement(machine: Machine, most: number): string {
  const counted = Object.keys(machine.states).map((status) => {
    const filled = filledIn(machine, status).map((name) => ` and ${identifier(name)} is not null`);
    return `select ${literal(status)}::text as status, (select count(*) from (
  select from ${qualified(machine.table)} where status = ${literal(status)}${filled.join('')} limit ${most + 1}) runs)::int4 as runs`;
  });
  return counted.join('\nunion all\n');
}

/** Counts the runs of each status, each up to `most` and one. Statuses without any are 0. */
export async function countByStatus(
  db: Database['db'] | Tx,
  machine: Machine,
  most: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql
    .raw<{ status: string; runs: number }>(countStatement(machine, most))
    .execute(db);
  return new Map(rows.map(({ status, runs }) => [status, runs]));
}
