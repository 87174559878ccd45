// The births of every listed machine lead through all of its arrows, in memory alone.

import { expect, it } from 'vitest';
import { declaredArrows } from '../support/declared.ts';
import { machineEntries } from '../support/machines.ts';
import { arrowsTaken, reachable } from '../support/reachable.ts';

it.each(machineEntries.map((entry) => [entry.machine.id, entry] as const))(
  '%s has no dead arrow and no status that cannot be reached',
  (_, entry) => {
    const places = reachable(entry);
    expect(arrowsTaken(entry.machine, places)).toEqual(declaredArrows(entry.machine));
    const statuses = new Set(places.map(({ snapshot }) => snapshot.value));
    expect([...statuses].sort()).toEqual(Object.keys(entry.machine.states).sort());
  },
);
