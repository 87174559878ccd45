// Gives a test file its database with every listed machine in it, and what the suites are called
// with.

import { afterAll, beforeAll } from 'vitest';
import { type Database, openDatabase } from '../../persistence/database.ts';
import { useDatabase } from './database.ts';
import { type MachineEntry, machineEntries } from './machines.ts';
import type { Subject } from './staging.ts';

/** Registers the file's database; returns how to ask for a machine's subject once tests run. */
export function useSubjects(connections = 4): (entry: MachineEntry) => Subject {
  const url = useDatabase();
  let opened: { readonly door: Database; readonly observer: Database } | undefined;
  beforeAll(async () => {
    const observer = await openDatabase({ url: url(), applicationName: 'observer' });
    const door = await openDatabase({ url: url(), connections });
    opened = { door, observer };
    for (const { prepare } of machineEntries) await prepare?.(observer);
  });
  afterAll(async () => {
    await opened?.door.close();
    await opened?.observer.close();
  });
  return (entry) => {
    if (!opened) throw new Error('The database exists once the tests run.');
    return { entry, ...opened };
  };
}

/** Cases of a parametrised test: each machine under its name. */
export const eachMachine = machineEntries.map((entry) => [entry.machine.id, entry] as const);
