// The compiled statements of each machine, compiled once and kept, and how one of them is sent.

import { CompiledQuery } from 'kysely';
import { checkMachine } from '../machines/check.ts';
import type { Machine } from '../machines/status-machine.ts';
import { compile, type Parameter, type Selection, type Statement } from './compile.ts';
import type { KernelQuery } from './connection.ts';
import type { Answer } from './outcome.ts';
import { isSingle, type Tx } from './transaction.ts';

const compiled = new WeakMap<Machine, Map<string, Statement>>();

/**
 * The statement of an event. The first use of a machine checks it.
 * @throws MachineError when the declaration has a mistake.
 */
export function statementOf(machine: Machine, event: string, selection: Selection): Statement {
  let statements = compiled.get(machine);
  if (!statements) {
    statements = new Map();
    compiled.set(checkMachine(machine), statements);
  }
  const key = [event, selection.selector, ...(selection.where ?? [])].join(' ');
  const known = statements.get(key);
  if (known) return known;
  const statement = compile(machine, event, selection);
  statements.set(key, statement);
  return statement;
}

export interface Sending {
  /**
   * Without a savepoint of its own: where it fails it throws, and the transaction is the caller's
   * to take back.
   */
  readonly bare?: boolean;
  /** Nothing of the transaction follows but what is `behind` it: COMMIT goes with it. */
  readonly last?: boolean;
  readonly behind?: NonNullable<KernelQuery['behind']>;
}

/**
 * Sends a statement of the kernel between SAVEPOINT and RELEASE: a failure leaves `tx` usable,
 * unless the statement is `bare`, or `last`: then the transaction is over, as it is in success.
 * `generic`: with the plan for any values. Left to itself Postgres plans a claim anew each time,
 * which was half of the 2 ms that an empty one takes.
 */
export async function run(
  tx: Tx,
  statement: Pick<Statement, 'text' | 'parameters'> & { readonly name?: string },
  values: (parameter: Parameter) => unknown,
  {
    generic = false,
    bare = false,
    last = isSingle(tx),
    behind,
  }: Sending & { readonly generic?: boolean } = {},
): Promise<readonly Answer[]> {
  const query: KernelQuery = {
    ...CompiledQuery.raw(statement.text, statement.parameters.map(values)),
    ...(statement.name !== undefined && { name: statement.name }),
    savepoint: !bare && !last,
    last,
    generic,
    ...(behind && { behind }),
    raw: true,
  };
  const { rows } = await tx.executeQuery<Answer>(query);
  return rows;
}
