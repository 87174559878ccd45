// Since when the run that is due longest waits to be claimed, of any machine: the one number that
// says whether workers keep up.

import { sql } from 'kysely';
import { arrowsOf, dueColumn } from '../machines/arrows.ts';
import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import { identifier, literal, qualified } from './print.ts';

/** Seconds by the database's clock; 0 where nothing is due. */
export async function oldestDueSeconds({ db }: Database, machine: Machine): Promise<number> {
  const waits = arrowsOf(machine).flatMap((arrow) => {
    const column = dueColumn(arrow);
    const isClaim = machine.events[arrow.event]?.by === 'claim';
    return isClaim && column !== undefined ? [{ from: arrow.from, column }] : [];
  });
  if (waits.length === 0) return 0;
  const oldest = waits.map(({ from, column }) => {
    const due = identifier(column);
    return `(select min(${due}) from ${qualified(machine.table)} where status = ${literal(from)} and ${due} <= statement_timestamp())`;
  });
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from statement_timestamp() - least(${sql.raw(oldest.join(', '))}))::float8
      as seconds`.execute(db);
  return rows[0]?.seconds ?? 0;
}
