// Bringing runs into being: one INSERT for any number of them, in the caller's transaction, so that
// a run exists exactly when what caused it does.

import { v7 as newId } from 'uuid';
import { kindOfDeclared } from '../machines/kind-of.ts';
import type { Machine, Run } from '../machines/status-machine.ts';
import type { Declared } from '../machines/vocabulary.ts';
import { statementName } from './compile.ts';
import { definitionHash } from './definition-hash.ts';
import { throwIfNotInstalled } from './door.ts';
import { arrayTypeOf, identifier, literal, qualified } from './print.ts';
import { run } from './statements.ts';
import type { Tx } from './transaction.ts';
import { bound, type ValueFault, valueFault } from './values.ts';
import { wakeAfterCommit } from './wake.ts';

/** The columns with which a run may be born. What is left out is the table's default. */
export type NewRun<M extends Machine> = {
  readonly id?: string;
} & Partial<Omit<Run<M>, 'id' | 'status' | 'seq' | M['fence'] | M['lease'] | M['owner']>>;

interface InvalidValue {
  readonly index: number;
  readonly column: string;
  readonly code: ValueFault | 'unknown_column';
}

/** Values that cannot be stored exactly as they are. Nothing was written. */
export class InvalidValuesError extends Error {
  override readonly name = 'InvalidValuesError';
  readonly code = 'invalid_values';
  readonly values: readonly InvalidValue[];

  constructor(values: readonly InvalidValue[]) {
    super(values.map(({ index, column, code }) => `[${index}].${column}: ${code}`).join(', '));
    this.values = values;
  }
}

type Loose = Readonly<Record<string, unknown>>;

function faultsOf(machine: Machine, rows: readonly Loose[], columns: readonly string[]) {
  const owned = [machine.fence, machine.lease, machine.owner];
  return rows.flatMap((row, index) =>
    ['id', ...columns].flatMap((column): readonly InvalidValue[] => {
      const isColumn = Object.hasOwn(machine.columns, column);
      const known = isColumn ? machine.columns[column] : undefined;
      const declared: Declared | undefined = column === 'id' ? 'uuid' : known;
      if (!declared || owned.includes(column)) return [{ index, column, code: 'unknown_column' }];
      const code = valueFault(row[column], declared);
      return code ? [{ index, column, code }] : [];
    }),
  );
}

/**
 * Creates runs, all or none. A column that any row names is written in all of them.
 * @returns their ids, in order; ids that the caller did not choose are of version 7, so that runs
 * of one time lie together in every index.
 * @throws InvalidValuesError when a value cannot be stored; the driver's error when a constraint is
 * broken (the transaction stays usable).
 */
export async function create<M extends Machine>(
  tx: Tx,
  machine: M,
  runs: readonly NewRun<M>[],
): Promise<readonly string[]> {
  if (runs.length === 0) return [];
  const rows = runs.map((each): Loose => ({ ...each, id: each.id ?? newId() }));
  const columns = [...new Set(rows.flatMap(Object.keys))]
    .filter((name) => name !== 'id')
    .toSorted();
  const faults = faultsOf(machine, rows, columns);
  if (faults.length > 0) throw new InvalidValuesError(faults);
  const declared = (column: string) => machine.columns[column] ?? 'text';
  const values = columns.map((column, i) => ({
    type: `$${i + 2}::${arrayTypeOf(machine.columns, column)}`,
    name: identifier(column),
    value:
      kindOfDeclared(declared(column)) === 'json'
        ? `${identifier(column)}::jsonb`
        : identifier(column),
  }));
  const text = `insert into ${qualified(machine.table)} (id, definition${values.map(({ name }) => `, ${name}`).join('')})
select n.id, (select d.number from ${qualified('machine_installed')} d where d.machine = ${literal(machine.id)} and d.hash = ${literal(definitionHash(machine))})${values.map(({ value }) => `, ${value}`).join('')}
from unnest(${['$1::uuid[]', ...values.map(({ type }) => type)].join(', ')}) as n(${['id', ...values.map(({ name }) => name)].join(', ')})`;
  const parameters = ['id', ...columns].map((name) => ({ from: 'field', name }) as const);
  try {
    await run(
      tx,
      { text, parameters, name: statementName(`${machine.id}.create`, text) },
      (from) => {
        const name = 'name' in from ? from.name : '';
        return rows.map((row) => (name === 'id' ? row['id'] : bound(row[name], declared(name))));
      },
    );
  } catch (error) {
    throwIfNotInstalled(machine, error);
    throw error;
  }
  wakeAfterCommit(tx, machine);
  return rows.map((row) => String(row['id']).toLowerCase());
}
