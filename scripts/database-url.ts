// `npm run -s database-url`: prints the address of the service's database, for psql.
// `npm run -s database-url -- <name>`: that of another database of its server, a branch for
// instance.

import { databaseUrl } from '../persistence/embedded-postgres.ts';
import { findDatabase, noDatabase } from './find-database.ts';

const [name] = process.argv.slice(2);
const url = await findDatabase();
if (url) {
  console.log(name === undefined ? url : databaseUrl(url, name));
} else {
  console.error(noDatabase);
  process.exitCode = 1;
}
