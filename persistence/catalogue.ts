// Whether a machine's table is what its declaration says, asked of the database's own catalogue:
// the part of a declaration that neither types nor `machines/check.ts` can see.

import { sql } from 'kysely';
import { isNullable, kindOfDeclared } from '../machines/kind-of.ts';
import type { Machine } from '../machines/status-machine.ts';
import type { Declared } from '../machines/vocabulary.ts';
import { literal, qualified, schemaName, sqlTypes } from './print.ts';
import type { Tx } from './transaction.ts';

/** A table lacks what its machine declares. A migration is missing; the process does not start. */
export class TableError extends Error {
  override readonly name = 'TableError';
  readonly code = 'table_differs';
}

const kernelColumns: Readonly<Record<string, Declared>> = {
  id: 'uuid',
  status: 'text',
  seq: 'int',
  event: 'text?',
  actor: 'text?',
  definition: 'int',
};

async function columnFaults(tx: Tx, machine: Machine): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string; type: string; nullable: boolean }>`
    select a.attname as name, t.typname as type, not a.attnotnull as nullable
    from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
    where a.attrelid = to_regclass(${qualified(machine.table)}) and a.attnum > 0
      and not a.attisdropped`.execute(tx);
  if (rows.length === 0) return ['the table does not exist'];
  const found = new Map(rows.map((row) => [row.name, row]));
  return Object.entries({ ...kernelColumns, ...machine.columns }).flatMap(([name, declared]) => {
    const column = found.get(name);
    const type = sqlTypes[kindOfDeclared(declared)];
    if (!column) return [`no column ${name}`];
    if (column.type !== type) return [`${name} is ${column.type}, the machine says ${type}`];
    if (column.nullable === isNullable(declared)) return [];
    return [`${name} ${column.nullable ? 'may be' : 'is never'} null, the machine says otherwise`];
  });
}

interface Trigger {
  readonly name: string;
  readonly text: string;
  /** The function that it calls, with its schema. */
  readonly calls: string;
  readonly columns: readonly string[];
}

/** The triggers of every table of runs, and which function of the machine each calls. */
const functions: Readonly<Record<string, string>> = {
  birth: 'refuse_birth',
  frozen: 'refuse_frozen',
  guard: 'guard',
  truncated: 'refuse_truncate',
  journal: 'journal',
  forget: 'forget',
};

/** A dump that was restored in part has rows and no keys: then one id may be two runs. */
async function keyFaults(tx: Tx, machine: Machine): Promise<readonly string[]> {
  const { rows } = await sql`
    select from pg_catalog.pg_index i join pg_catalog.pg_attribute a
      on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = to_regclass(${qualified(machine.table)}) and i.indisunique and i.indisvalid
      and i.indpred is null and i.indnkeyatts = 1 and a.attname = 'id'`.execute(tx);
  return rows.length > 0 ? [] : ['id is no key'];
}

async function triggerFaults(tx: Tx, machine: Machine): Promise<readonly string[]> {
  const { rows } = await sql<Trigger>`
    select t.tgname as name, pg_get_triggerdef(t.oid) as text, n.nspname || '.' || p.proname as calls,
      array(select a.attname::text from unnest(t.tgattr) k join pg_catalog.pg_attribute a
        on a.attrelid = t.tgrelid and a.attnum = k) as columns
    from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where t.tgrelid = to_regclass(${qualified(machine.table)}) and t.tgenabled in ('O', 'A')
      and not t.tgisinternal`.execute(tx);
  const triggers = new Map(rows.map((row) => [row.name, row]));
  const checked = Object.keys(machine.checks ?? {}).length > 0 ? ['checked'] : [];
  const wanted = [...Object.keys(functions), ...checked];
  const missing = wanted.filter((name) => !triggers.has(name));
  const strange = wanted.filter((name) => {
    const calls = `${schemaName}.${machine.id}_${functions[name] ?? 'guard'}`;
    return triggers.has(name) && triggers.get(name)?.calls !== calls;
  });
  const frozen = new Set(triggers.get('frozen')?.columns);
  const declared = new Set(['id', ...machine.frozen]);
  const birth = triggers.get('birth')?.text ?? '';
  const another = birth && !birth.includes(`DISTINCT FROM ${literal(machine.initial)}::text`);
  const unborn = [machine.fence, machine.lease, machine.owner].filter(
    (name) => birth && !birth.includes(`new.${name} `),
  );
  return [
    ...missing.map((name) => `no trigger ${name}, or it is disabled`),
    ...strange.map((name) => `the trigger ${name} is not this machine's`),
    ...unborn.map((name) => `births are not judged by ${name} there`),
    ...[...frozen].filter((name) => !declared.has(name)).map((name) => `${name} is frozen there`),
    ...[...declared]
      .filter((name) => !frozen.has(name))
      .map((name) => `${name} is not frozen there`),
    ...(another ? [`runs are not born as ${machine.initial} there`] : []),
  ];
}

/** @throws TableError with everything in which the table differs from the declaration. */
export async function checkTable(tx: Tx, machine: Machine): Promise<void> {
  const columns = await columnFaults(tx, machine);
  const faults =
    columns.length > 0
      ? columns
      : [...(await keyFaults(tx, machine)), ...(await triggerFaults(tx, machine))];
  if (faults.length === 0) return;
  throw new TableError(
    `machine ${machine.id}, table ${machine.table}: ${faults.join('; ')}. A migration is missing.`,
  );
}
