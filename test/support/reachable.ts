// The states that a machine can reach in memory from the births of its entry: what the generated
// suites are made of.

import { inMemory } from '../../machines/in-memory.ts';
import { isNullable } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { type Place, reach, type Snapshot } from './graph.ts';
import { arrowTaken } from './judge.ts';
import type { MachineEntry, Values } from './machines.ts';
import { eventSamples } from './samples.ts';

/** A whole row in memory, as a run is born with it. */
export function bornRow({ machine }: MachineEntry, birth: Values): Values {
  return Object.fromEntries(
    Object.entries(machine.columns).map(([name, declared]) => {
      const value = birth[name] ?? (name === machine.fence ? 0 : null);
      if (value === null && !isNullable(declared)) {
        throw new Error(`${machine.id}: a birth says nothing of the column ${name}`);
      }
      return [name, value];
    }),
  );
}

/** What keeps the reachable states finite: beyond these counts a run is not followed. */
export const stopOf =
  ({ most }: MachineEntry) =>
  ({ context }: Snapshot): boolean =>
    Object.entries(most).some(([column, count]) => Number(context[column]) > count);

/**
 * The reachable states. Fields that no guard reads stay the same on the way: they multiply states
 * and lead nowhere else.
 */
export function reachable(entry: MachineEntry): readonly Place[] {
  const bounds = { events: eventSamples(entry, 'one'), stopWhen: stopOf(entry) };
  return entry.births.flatMap((birth) =>
    reach(inMemory(entry.machine, bornRow(entry, birth)), bounds),
  );
}

/** The arrows that are taken on the way through these states, each once. */
export function arrowsTaken(machine: Machine, places: readonly Place[]): readonly string[] {
  const taken = places.flatMap(({ snapshot, sent }) => {
    const row = { ...snapshot.context, status: snapshot.value };
    return sent.flatMap(({ event }) => arrowTaken(machine, row, event) ?? []);
  });
  return [...new Set(taken)].sort();
}
