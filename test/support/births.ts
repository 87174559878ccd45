// Runs that are born as the service's are: by `create`, with the columns of an entry's births.

import { create } from '../../persistence/create.ts';
import { transaction } from '../../persistence/transaction.ts';
import { moments, type Values } from './machines.ts';
import { bornRow } from './reachable.ts';
import { clockOf, type Subject, staged } from './staging.ts';

/** Creates a run for each birth, in one call, and returns their ids in order. */
export async function bear(subject: Subject, births: readonly Values[]): Promise<string[]> {
  const { entry, observer, door } = subject;
  const { machine } = entry;
  const clock = await clockOf(observer);
  const kernels = ['status', machine.fence, machine.lease, machine.owner];
  const rows = births.map((birth) => {
    const memory = { status: machine.initial, row: bornRow(entry, birth), at: moments.early };
    const columns = Object.entries(staged(entry, memory, clock));
    return Object.fromEntries(columns.filter(([name]) => !kernels.includes(name)));
  });
  return [...(await transaction(door, (tx) => create(tx, machine, rows as never)))];
}
