// Makes the service's own database in the embedded Postgres, once. server.ts calls it there only:
// in a Postgres of somebody else's, databases are theirs to make.

import pg from 'pg';
import { databaseUrl } from './embedded-postgres.ts';
import { identifier } from './print.ts';
import { sqlstateOf } from './sqlstate.ts';
import { within } from './within.ts';

const duplicateDatabase = '42P04';
const answerMs = 60_000;

/** Creates the database unless it is there, and returns its address. */
export async function ensureDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl, application_name: 'fencepost' });
  // Without a listener the error of a lost connection would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await within(client, answerMs, client.query(`create database ${identifier(name)}`));
  } catch (error) {
    // Asking first would be a second way to be wrong: somebody may create it in between.
    if (sqlstateOf(error) !== duplicateDatabase) throw error;
  } finally {
    await client.end();
  }
  return databaseUrl(serverUrl, name);
}
