// `npm run -s database-url`: prints the address of the service's database, for psql.

import { findDatabase, noDatabase } from './find-database.ts';

const url = await findDatabase();
if (url) {
  console.log(url);
} else {
  console.error(noDatabase);
  process.exitCode = 1;
}
