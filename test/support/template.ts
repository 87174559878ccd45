// What every test database starts from: all migrations, and the machines installed.

import { machines } from '../../machines/all.ts';
import { openDatabase } from '../../persistence/database.ts';
import { installMachines } from '../../persistence/definitions.ts';
import { migrate } from '../../persistence/migrate.ts';

export async function prepareTemplate(url: string): Promise<void> {
  const database = await openDatabase({ url, connections: 1 });
  try {
    await migrate(database);
    await installMachines(database, machines);
  } finally {
    await database.close();
  }
}
