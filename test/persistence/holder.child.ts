/**
 * A process that holds a run inside a transaction until the test stops it. Takes the database's
 * address, the run's id and the limits as JSON; says `held`, then waits for a line and goes on, and
 * says what came of it.
 */
import { once } from 'node:events';
import { sql } from 'kysely';
import { openDatabase } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';

const { url, id, limits } = JSON.parse(process.argv[2] ?? '');
const database = await openDatabase({ url, limits, applicationName: 'holder' });
const say = (line: string) => process.stdout.write(`${line}\n`);
try {
  await transaction(database, async (tx) => {
    await sql`select 1 from fencepost.delivery where id = ${id}::uuid for no key update`.execute(
      tx,
    );
    say('held');
    await once(process.stdin, 'data');
    await sql`select 1`.execute(tx);
  });
  say('committed');
} catch (error) {
  say(`failed ${(error as { code?: string }).code}`);
}
await sql`select 1`.execute(database.db);
say('goes on');
await database.close();
process.exit();
