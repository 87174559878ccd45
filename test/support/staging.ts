// Puts runs into exactly the states that a suite wants, and reads them back. Both go around the
// door and, where it is changed on purpose, around the changed one: by a database handle of the
// suite's own.
//
// - Staging disables the triggers for its transaction, which a superuser may. Nothing that a suite
//   checks is written like this.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { kindOfDeclared } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { printInstant } from '../../persistence/instant.ts';
import { qualified } from '../../persistence/print.ts';
import { transaction } from '../../persistence/transaction.ts';
import type { MachineEntry, Values } from './machines.ts';

/**
 * What a suite is called with. `door` may be a database whose statements were changed on purpose.
 */
export interface Subject {
  readonly entry: MachineEntry;
  readonly door: Database;
  readonly observer: Database;
}

/** A run to be staged: status, columns, and what else it should have of the kernel's own. */
export type StagedRow = Values & { readonly id: string; readonly status: string };

const table = (machine: Machine) => sql.raw(qualified(machine.table));
const hour = 3_600_000_000;

export const instantsOf = (machine: Machine): readonly string[] =>
  Object.entries(machine.columns)
    .filter(([, declared]) => kindOfDeclared(declared) === 'instant')
    .map(([name]) => name);

/** The database's clock, in microseconds, as a connection sees it. */
export async function clockIn(db: Database['db']): Promise<number> {
  const { rows } = await sql<{ at: number }>`select clock_timestamp() as at`.execute(db);
  return rows[0]?.at ?? 0;
}

export const clockOf = ({ db }: Database): Promise<number> => clockIn(db);

/**
 * A row of memory, seen from the moment of the event, as a row around the database's clock: what
 * lay before the event lies at least an hour back, what lay after it at least an hour ahead.
 */
export function staged(
  { machine, unique = [] }: MachineEntry,
  memory: { readonly status: string; readonly row: Values; readonly at: number },
  clock: number,
): StagedRow {
  const id = randomUUID();
  const columns = Object.entries(memory.row).map(([name, value]) => {
    if (unique.includes(name)) return [name, `${value}${id}`];
    if (typeof value !== 'number') return [name, value];
    if (kindOfDeclared(machine.columns[name] ?? 'int') !== 'instant') return [name, value];
    const offset = value - memory.at;
    return [name, clock + offset + (offset > 0 ? hour : -hour)];
  });
  return { ...Object.fromEntries(columns), id, status: memory.status };
}

function plain(machine: Machine, row: StagedRow): Values {
  const columns = Object.entries(row).map(([name, value]) => {
    const isInstant = kindOfDeclared(machine.columns[name] ?? 'text') === 'instant';
    return [name, isInstant && typeof value === 'number' ? printInstant(value) : value];
  });
  return { seq: 0, event: null, actor: null, definition: 0, ...Object.fromEntries(columns) };
}

/** Writes the rows as they are. With `alone`, what else was in the table is gone. */
export async function stage(
  { entry: { machine }, observer }: Subject,
  rows: readonly StagedRow[],
  how: 'alone' | 'beside' = 'beside',
): Promise<void> {
  const text = JSON.stringify(rows.map((row) => plain(machine, row)));
  await transaction(observer, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    if (how === 'alone') await sql`truncate ${table(machine)}`.execute(tx);
    await sql`insert into ${table(machine)} select n.*
      from jsonb_populate_recordset(null::${table(machine)}, ${text}::jsonb) n`.execute(tx);
  });
}

/** Changes instants of runs to what they are told, without any guard. */
export async function alter(
  { entry: { machine }, observer }: Subject,
  rows: readonly (Values & { readonly id: string })[],
): Promise<void> {
  const instants = instantsOf(machine).filter((name) => rows.some((row) => name in row));
  const changes = instants.map((name) => sql`${sql.id(name)} = n.${sql.id(name)}`);
  if (changes.length === 0) return;
  const text = JSON.stringify(rows.map((row) => plain(machine, { status: '', ...row })));
  await transaction(observer, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update ${table(machine)} r set ${sql.join(changes)}
      from jsonb_populate_recordset(null::${table(machine)}, ${text}::jsonb) n
      where r.id = n.id`.execute(tx);
  });
}

/** Makes a run a day older: what it waited for is due, and its lease has lapsed. */
export async function makeOlder(
  { entry: { machine }, observer }: Subject,
  id: string,
): Promise<void> {
  const moving = instantsOf(machine).filter((name) => !machine.frozen.includes(name));
  const changes = moving.map((name) => sql`${sql.id(name)} = ${sql.id(name)} - interval '1 day'`);
  await transaction(observer, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update ${table(machine)} set ${sql.join(changes)} where id = ${id}`.execute(tx);
  });
}

/** Reads runs whole, by id. */
export async function read(
  { entry: { machine }, observer }: Subject,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Values>> {
  const { rows } = await sql<Values>`
    select r.* from ${table(machine)} r where r.id = any(${ids}::uuid[])`.execute(observer.db);
  return new Map(rows.map((row) => [String(row['id']), row]));
}

export interface JournalRow {
  readonly run: string;
  readonly seq: number;
  readonly event: string | null;
  readonly actor: string;
  readonly from_status: string;
  readonly to_status: string;
  readonly fence: number;
}

/** The journal of each run, in its order. */
export async function journalOf(
  { entry: { machine }, observer }: Subject,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly JournalRow[]>> {
  const rows = await observer.db
    .selectFrom('fencepost.journal')
    .select(['run', 'seq', 'event', 'actor', 'from_status', 'to_status', 'fence'])
    .where('machine', '=', machine.id)
    .where(sql<boolean>`run = any(${ids}::uuid[])`)
    .orderBy('seq')
    .execute();
  const journals = new Map(ids.map((id): [string, JournalRow[]] => [id, []]));
  for (const row of rows) journals.get(row.run)?.push(row);
  return journals;
}

/** How many late writes to these runs were recorded. */
export async function lostWrites(
  { entry: { machine }, observer }: Subject,
  ids: readonly string[],
): Promise<number> {
  const { rows } = await sql<{ lost: number }>`
    select count(*) as lost from fencepost.lost_write
    where machine = ${machine.id} and run = any(${ids}::uuid[])`.execute(observer.db);
  return rows[0]?.lost ?? 0;
}
