// What every program is made of that the sweep kills: it opens the database, says `ready`, waits
// for a line, works, says `done`, and ends with 0.
//
// - Messages are counted between `ready` and `done`: what opens connections comes before.
// - A connection that is lost meanwhile must not end the program: that would be a finding.

import { once } from 'node:events';
import { type Database, openDatabase } from '../../../persistence/database.ts';

/** What is done between `ready` and `done`, and what is done after it. */
export interface Work {
  work(): Promise<void>;
  close(): Promise<void>;
}

/** Runs a program of the sweep. `args` are what the scenario's stage says, and then the mutant. */
export async function sweptChild(
  open: (database: Database, args: readonly string[]) => Promise<Work>,
): Promise<void> {
  const [url = '', ...args] = process.argv.slice(2);
  const database = await openDatabase({ url, applicationName: 'swept' });
  const { work, close } = await open(database, args);
  process.stdout.write('ready\n');
  await once(process.stdin, 'data');
  await work();
  process.stdout.write('done\n');
  await close();
  await database.close();
  process.exit();
}
