// The generated suites kill known bugs, and let the kernel as it is live. MUTANTS=all calls every
// suite on every mutant and prints the whole table, which takes some minutes.

import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../persistence/database.ts';
import { changedClient } from '../support/changed-client.ts';
import { cloneDatabase } from '../support/database.ts';
import { findings, suitesFor } from '../support/kills.ts';
import { type MachineEntry, machineEntries } from '../support/machines.ts';
import { type Mutant, mutants } from '../support/mutants.ts';
import { seedOfRun } from '../support/properties.ts';
import type { Subject } from '../support/staging.ts';

const seed = seedOfRun('mutants');
const isWhole = process.env['MUTANTS'] === 'all';
const table: string[] = [];

afterAll(() => {
  const width = Math.max(...mutants.map(({ name }) => name.length));
  const lines = table.map((line) => {
    const [name = '', killers] = line.split(' | ');
    return `${name.padEnd(width)} | ${killers}\n`;
  });
  process.stdout.write(lines.join(''));
});

function outboxEntry(): MachineEntry {
  const entry = machineEntries.find(({ machine }) => machine.id === 'outbox');
  if (!entry) throw new Error('the outbox is not in the list of machines');
  return entry;
}

/** Runs the work on a database of its own, in which the mutant lives. */
async function withMutant(
  { rewrite, ddl = [], overhear }: Mutant,
  work: (subject: Subject) => Promise<void>,
): Promise<number> {
  const { url, name, drop } = await cloneDatabase();
  const { clientClass, changed } = changedClient(rewrite ?? ((text) => text), overhear?.(url));
  const opened: Database[] = [];
  try {
    const observer = await openDatabase({ url, applicationName: 'observer' });
    opened.push(observer);
    // A deadlock is found a second after it came about, unless told otherwise.
    await sql`alter database ${sql.id(name)} set deadlock_timeout = 10`.execute(observer.db);
    for (const statement of ddl) await sql.raw(statement).execute(observer.db);
    const door = await openDatabase({ url, connections: 20, clientClass });
    opened.push(door);
    await work({ entry: outboxEntry(), door, observer });
  } finally {
    for (const database of opened) await database.close();
    await drop();
  }
  return changed();
}

describe('the outbox', () => {
  it('passes every suite as it is', async () => {
    await withMutant({ name: 'none' }, async (subject) => {
      for (const [name, suite] of suitesFor('statements')) {
        expect(await findings(suite, subject, seed), name).toEqual([]);
      }
    });
  });

  it.each(mutants)('does not survive when $name', async (mutant) => {
    const killers: string[] = [];
    const isInStatements = mutant.rewrite !== undefined || mutant.overhear !== undefined;
    const changed = await withMutant(mutant, async (subject) => {
      for (const [name, suite] of suitesFor(isInStatements ? 'statements' : 'database')) {
        const found = await findings(suite, subject, seed);
        if (found.length > 0) killers.push(name);
        if (found.length > 0 && !isWhole) break;
      }
    });
    table.push(`${mutant.name} | ${killers.join(', ')}`);
    expect(killers).not.toEqual([]);
    // A mutant that changes nothing would be killed by a suite that fails for another reason.
    if (mutant.rewrite) expect(changed).toBeGreaterThan(0);
  });
});
