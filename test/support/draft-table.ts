// The table of a draft machine, made from its declaration: what a migration writes out by hand for
// a machine of the service.

import { sql } from 'kysely';
import { isNullable, kindOfDeclared } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { installMachines } from '../../persistence/definitions.ts';
import { guardTriggers } from '../../persistence/guards.ts';
import { identifier, literal, qualified, sqlTypes } from '../../persistence/print.ts';

function tableText(machine: Machine): string {
  const columns = Object.entries(machine.columns).map(([name, declared]) => {
    const presence = isNullable(declared) ? '' : ' not null';
    const born = name === machine.fence ? ' default 0' : '';
    return `${identifier(name)} ${sqlTypes[kindOfDeclared(declared)]}${presence}${born}`;
  });
  return `create table ${qualified(machine.table)} (
  id uuid primary key,
  status text not null default ${literal(machine.initial)},
  seq int4 not null default 0,
  event text,
  actor text,
  definition int4 not null,
  ${columns.join(',\n  ')}) with (fillfactor = 70)`;
}

/** Makes the table with its guards, adds what `more` says of it, and installs the machine. */
export async function makeDraftTable(
  database: Database,
  machine: Machine,
  more: readonly string[],
): Promise<void> {
  const { id, table, initial, fence, lease, owner, frozen } = machine;
  const checked = machine.checks !== undefined;
  const guarded = { machine: id, table, initial, fence, lease, owner, frozen, checked };
  const triggers = guardTriggers(guarded);
  for (const statement of [tableText(machine), ...more, ...triggers]) {
    await sql.raw(statement).execute(database.db);
  }
  await installMachines(database, [machine]);
}
