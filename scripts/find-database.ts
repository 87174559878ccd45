// Which database the commands talk to: the one that the service uses, as the environment and the
// current folder tell.

import { databaseUrl, findEmbeddedPostgres } from '../persistence/embedded-postgres.ts';

/** Returns DATABASE_URL, or the address of the embedded one while the service runs here. */
export async function findDatabase(): Promise<string | undefined> {
  const given = process.env['DATABASE_URL'];
  if (given) return given;
  const server = await findEmbeddedPostgres('.fencepost/postgres');
  return server && databaseUrl(server, 'fencepost');
}

export const noDatabase =
  'DATABASE_URL is not set, and no embedded Postgres runs in this folder: npm start first';
