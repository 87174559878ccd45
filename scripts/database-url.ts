// `npm run -s database-url`: prints the address of the service's database, for psql.
// `npm run -s database-url -- <name>`: that of another database of its server, a branch for
// instance.

import { databaseUrl } from '../persistence/embedded-postgres.ts';
import { findDatabase, noDatabase } from './find-database.ts';

const [name, ...more] = process.argv.slice(2);
const url = await findDatabase();
if (more.length > 0 || name?.startsWith('-')) {
  console.error('npm run -s database-url -- [<name of a database>]');
  process.exitCode = 1;
} else if (url) {
  console.log(name === undefined ? url : databaseUrl(url, name));
} else {
  console.error(noDatabase);
  process.exitCode = 1;
}
