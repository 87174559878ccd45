// `npm run machines`: what the database enforces beside what this code declares.
// `npm run machines -- contract <id>`: narrows an installed definition to this code's.
// `npm run machines -- restore <id>`: lets this code's definition start again after a contraction.
//
// The database is DATABASE_URL, or the embedded one while the service runs. Exits 1 when something
// differs or is refused.

import { machines } from '../machines/all.ts';
import type { Machine } from '../machines/status-machine.ts';
import { openDatabase } from '../persistence/database.ts';
import {
  compareDefinitions,
  contractMachine,
  DefinitionError,
  installedDefinitions,
  restoreDefinition,
} from '../persistence/definitions.ts';
import { findDatabase, noDatabase } from './find-database.ts';

type Database = Awaited<ReturnType<typeof openDatabase>>;

async function list(database: Database): Promise<boolean> {
  let same = true;
  for (const machine of machines) {
    const gap = await compareDefinitions(database, machine);
    console.log(`${machine.id} (table ${machine.table})`);
    for (const row of await installedDefinitions(database, machine)) {
      const runs = row.runs === 0 ? 'no runs' : `${row.runs} live runs`;
      console.log(`  #${row.number}${row.current ? ', enforced' : ''}: last wrote ${runs}`);
    }
    if (!gap) {
      console.log('  not installed: it will be when a process starts');
    } else if (gap.wider.length + gap.narrower.length === 0) {
      console.log('  the database enforces what this code declares');
    } else {
      same = false;
      for (const fact of gap.wider) console.log(`  only this code:     ${fact}`);
      for (const fact of gap.narrower) console.log(`  only the database:  ${fact}`);
    }
  }
  return same;
}

const commands: Readonly<
  Record<string, (database: Database, machine: Machine) => Promise<string>>
> = {
  async contract(database, machine) {
    const { number, change } = await contractMachine(database, machine);
    return `${change}, definition #${number} is enforced`;
  },
  async restore(database, machine) {
    return `definition #${await restoreDefinition(database, machine)} may start again`;
  },
};

async function order(database: Database, command: string, id = ''): Promise<boolean> {
  const known = Object.hasOwn(commands, command) ? commands[command] : undefined;
  const machine = machines.find((each) => each.id === id);
  if (!known || !machine) {
    const [names, ids] = [Object.keys(commands), machines.map((each) => each.id)];
    console.error(`npm run machines -- ${names.join('|')} <id>, one of: ${ids.join(', ')}`);
    return false;
  }
  console.log(`${machine.id}: ${await known(database, machine)}`);
  return true;
}

async function main(): Promise<boolean> {
  const url = await findDatabase();
  if (!url) {
    console.error(noDatabase);
    return false;
  }
  const [command, id] = process.argv.slice(2);
  const database = await openDatabase({ url, connections: 2 });
  try {
    if (command === undefined) return await list(database);
    return await order(database, command, id);
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    console.error(error.message);
    return false;
  } finally {
    await database.close();
  }
}

process.exitCode = (await main()) ? 0 : 1;
