// Installed definitions: which machine the database enforces, and whether this process fits it.
//
// - At start, under the maintenance lock: the installed definition permits more than mine → leave
//   it; mine permits as much or more → install mine; otherwise refuse and print the difference. So
//   a rolling deploy works in both directions, also when an old process restarts.
// - Narrowing is a command of its own (`contract`), which refuses while runs are where the narrower
//   definition would not let them be. What it narrowed away is retired: a process that still runs
//   it is refused at its next start, instead of widening it again behind everybody's back.
// - Every definition that a process ran with is a row with a number; a run carries the number of
//   the one that last wrote it.

import { sql } from 'kysely';
import { isFinal } from '../machines/arrows.ts';
import { checkMachine } from '../machines/check.ts';
import type { Machine } from '../machines/status-machine.ts';
import { checkTable } from './catalogue.ts';
import type { Database } from './database.ts';
import { definitionHash } from './definition-hash.ts';
import { guardFunctions, rowChecks } from './guards.ts';
import { maintain } from './maintenance.ts';
import { type Difference, difference } from './permitted.ts';
import { qualified } from './print.ts';
import type { Tx } from './transaction.ts';

/** This process's machine and the installed one do not go together. The process does not start. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
  readonly code:
    | 'definition_diverged'
    | 'definition_retired'
    | 'definition_is_not_narrower'
    | 'runs_in_removed_status'
    | 'runs_against_check';
  readonly machine: string;
  readonly difference: Difference;

  constructor(code: DefinitionError['code'], machine: string, gap: Difference, message: string) {
    super(message);
    this.code = code;
    this.machine = machine;
    this.difference = gap;
  }
}

export interface Installed {
  readonly machine: string;
  /** The number under which this process's definition is known. */
  readonly number: number;
  /** What the database enforces now: this process's definition, or a wider one. */
  readonly enforced: 'mine' | 'wider';
  readonly change: 'installed' | 'widened' | 'contracted' | 'unchanged';
}

async function currentDefinition(tx: Tx, machine: string): Promise<Machine | undefined> {
  const row = await tx
    .selectFrom('fencepost.machine_installed')
    .select('definition')
    .where('machine', '=', machine)
    .where('current', '=', true)
    .executeTakeFirst();
  return row?.definition as Machine | undefined;
}

async function numberOf(tx: Tx, machine: Machine): Promise<number> {
  const hash = definitionHash(machine);
  const { rows } = await sql<{ number: number }>`
    insert into fencepost.machine_installed (machine, number, hash, definition, current)
    select ${machine.id}, coalesce(max(number), 0) + 1, ${hash}, ${JSON.stringify(machine)}::jsonb, false
    from fencepost.machine_installed where machine = ${machine.id}
    on conflict (machine, hash) do update set hash = excluded.hash
    returning number`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error(`the definition of ${machine.id} got no number`);
  return row.number;
}

async function enforce(tx: Tx, machine: Machine, number: number): Promise<void> {
  for (const statement of guardFunctions(machine)) await sql.raw(statement).execute(tx);
  await sql`update fencepost.machine_installed set current = false
    where machine = ${machine.id} and current and number <> ${number}`.execute(tx);
  await sql`update fencepost.machine_installed set current = true
    where machine = ${machine.id} and number = ${number} and not current`.execute(tx);
}

const listed = (facts: readonly string[]) => facts.map((fact) => `\n    ${fact}`).join('');

async function installOne(tx: Tx, machine: Machine): Promise<Installed> {
  await checkTable(tx, checkMachine(machine));
  const installed = await currentDefinition(tx, machine.id);
  const number = await numberOf(tx, machine);
  const done = (enforced: Installed['enforced'], change: Installed['change']) => ({
    machine: machine.id,
    number,
    enforced,
    change,
  });
  if (!installed) {
    await enforce(tx, machine, number);
    return done('mine', 'installed');
  }
  const gap = difference(machine, installed);
  if (gap.wider.length > 0 && (await isRetired(tx, machine, number))) {
    throw new DefinitionError(
      'definition_retired',
      machine.id,
      gap,
      `machine ${machine.id}: this process's definition #${number} was contracted away.` +
        `\n  Only this process:${listed(gap.wider)}` +
        '\n  Deploy the narrower code, or take the contraction back: npm run machines -- restore.',
    );
  }
  if (gap.wider.length > 0 && gap.narrower.length > 0) {
    throw new DefinitionError(
      'definition_diverged',
      machine.id,
      gap,
      `machine ${machine.id}: this process and the database disagree.` +
        `\n  Only this process:${listed(gap.wider)}\n  Only the database:${listed(gap.narrower)}` +
        '\n  Deploy a definition that permits both first, then contract.',
    );
  }
  if (gap.narrower.length > 0) return done('wider', 'unchanged');
  await enforce(tx, machine, number);
  return done('mine', gap.wider.length > 0 ? 'widened' : 'unchanged');
}

/**
 * Installs this process's machines, or finds that wider ones are installed. Idempotent; any number
 * of processes may call it at once.
 * @throws DefinitionError when one has diverged, TableError when a table lacks what it needs,
 * MachineError when a declaration has a mistake.
 */
export async function installMachines(
  database: Database,
  machines: readonly Machine[],
): Promise<readonly Installed[]> {
  return await maintain(database, async (tx) => {
    const results: Installed[] = [];
    for (const machine of machines) results.push(await installOne(tx, machine));
    return results;
  });
}

/** What installing would find, without doing it: for `npm run machines`. */
export async function compareDefinitions(
  database: Database,
  machine: Machine,
): Promise<Difference | undefined> {
  return await maintain(database, async (tx) => {
    const installed = await currentDefinition(tx, machine.id);
    return installed && difference(machine, installed);
  });
}

interface DefinitionInUse {
  readonly number: number;
  readonly current: boolean;
  /** Runs that have not come to their end and that this definition last wrote. */
  readonly runs: number;
}

/** Every definition that processes ran with, and how many live runs each last wrote. */
export async function installedDefinitions(
  database: Database,
  machine: Machine,
): Promise<readonly DefinitionInUse[]> {
  const final = Object.keys(machine.states).filter((status) => isFinal(machine, status));
  const { rows } = await sql<DefinitionInUse>`
    select d.number, d.current,
      (select count(*) from ${sql.raw(qualified(machine.table))} r
        where r.definition = d.number and r.status <> all(${final}::text[])) as runs
    from fencepost.machine_installed d where d.machine = ${machine.id}
    order by d.number`.execute(database.db);
  return rows;
}

async function isRetired(tx: Tx, machine: Machine, number: number): Promise<boolean> {
  const row = await tx
    .selectFrom('fencepost.machine_installed')
    .select('retired_at')
    .where('machine', '=', machine.id)
    .where('number', '=', number)
    .executeTakeFirst();
  return (row?.retired_at ?? null) !== null;
}

/** Retires every definition that permits something beyond this one. */
async function retireWider(tx: Tx, machine: Machine): Promise<void> {
  const known = await tx
    .selectFrom('fencepost.machine_installed')
    .select(['number', 'definition'])
    .where('machine', '=', machine.id)
    .where('retired_at', 'is', null)
    .execute();
  const wider = known
    .filter((row) => difference(row.definition as Machine, machine).wider.length > 0)
    .map((row) => row.number);
  await sql`update fencepost.machine_installed set retired_at = clock_timestamp()
    where machine = ${machine.id} and number = any(${wider}::int4[])`.execute(tx);
}

/** Lets processes that run this definition start again, and widen to it. Returns its number. */
export async function restoreDefinition(database: Database, machine: Machine): Promise<number> {
  return await maintain(database, async (tx) => {
    const number = await numberOf(tx, machine);
    await sql`update fencepost.machine_installed set retired_at = null
      where machine = ${machine.id} and number = ${number}`.execute(tx);
    return number;
  });
}

/** Live runs that a check of the narrower definition does not hold for. */
async function runsAgainstChecks(tx: Tx, machine: Machine) {
  const final = Object.keys(machine.states).filter((status) => isFinal(machine, status));
  const counted = rowChecks(machine, 'r').map(async ({ name, sql: holds }) => {
    const { rows } = await sql<{ runs: number; example: string | null }>`
      select count(*) as runs, min(r.id::text) as example
      from ${sql.raw(qualified(machine.table))} r
      where r.status <> all(${final}::text[]) and not (${sql.raw(holds)})`.execute(tx);
    const [{ runs, example } = { runs: 0, example: '' }] = rows;
    return runs > 0 ? [`${runs} against "${name}", ${example} for one`] : [];
  });
  return (await Promise.all(counted)).flat();
}

async function runsInRemoved(tx: Tx, machine: Machine, installed: Machine) {
  const removed = Object.keys(installed.states).filter((status) => !(status in machine.states));
  if (removed.length === 0) return [];
  const { rows } = await sql<{ status: string; runs: number; example: string }>`
    select status, count(*) as runs, min(id::text) as example
    from ${sql.raw(qualified(machine.table))} where status = any(${removed}::text[])
    group by status order by status`.execute(tx);
  return rows;
}

/**
 * Narrows the installed definition to this process's. Processes that still run the wider one are
 * then refused what went: stop them first.
 * @throws DefinitionError while runs are in a status that would go or against a check that would
 * come, and when mine is not narrower.
 */
export async function contractMachine(database: Database, machine: Machine): Promise<Installed> {
  return await maintain(database, async (tx) => {
    await checkTable(tx, checkMachine(machine));
    const installed = await currentDefinition(tx, machine.id);
    const gap = installed ? difference(machine, installed) : { wider: [], narrower: [] };
    if (gap.wider.length > 0) {
      throw new DefinitionError(
        'definition_is_not_narrower',
        machine.id,
        gap,
        `machine ${machine.id}: this process permits more than is installed:${listed(gap.wider)}` +
          '\n  Start a process to widen it first; contract only narrows.',
      );
    }
    // Nobody may write between the counts and the new guard.
    await sql`lock table ${sql.raw(qualified(machine.table))} in share row exclusive mode`.execute(
      tx,
    );
    const stuck = installed ? await runsInRemoved(tx, machine, installed) : [];
    if (stuck.length > 0) {
      const places = stuck.map((row) => `${row.runs} in "${row.status}", ${row.example} for one`);
      throw new DefinitionError(
        'runs_in_removed_status',
        machine.id,
        gap,
        `machine ${machine.id}: runs are in a status that would go:${listed(places)}`,
      );
    }
    const against = await runsAgainstChecks(tx, machine);
    if (against.length > 0) {
      throw new DefinitionError(
        'runs_against_check',
        machine.id,
        gap,
        `machine ${machine.id}: runs are there that a check would refuse:${listed(against)}`,
      );
    }
    const number = await numberOf(tx, machine);
    await enforce(tx, machine, number);
    await sql`update fencepost.machine_installed set retired_at = null
      where machine = ${machine.id} and number = ${number}`.execute(tx);
    if (gap.narrower.length > 0) await retireWider(tx, machine);
    const change = gap.narrower.length > 0 ? 'contracted' : 'unchanged';
    return { machine: machine.id, number, enforced: 'mine', change };
  });
}
