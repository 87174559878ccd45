// `npm run openapi`: writes docs/openapi.json and docs/scopes.md, as the route table has it. A test
// fails while they differ.

import { writeFile } from 'node:fs/promises';
import { openapi } from '../services/http/openapi.ts';
import { scopeMatrix } from '../services/http/scope-matrix.ts';
import { describedRoutes } from '../services/routes.ts';

const routes = describedRoutes();
await writeFile('docs/openapi.json', `${JSON.stringify(openapi(routes), null, 2)}\n`);
await writeFile('docs/scopes.md', scopeMatrix(routes));
