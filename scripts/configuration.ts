// `npm run configuration`: writes docs/configuration.md and .env.example, as the schema of the
// configuration has it. A test fails while they differ.

import { writeFile } from 'node:fs/promises';
import { configurationPage, envExample } from '../services/config-text.ts';

await writeFile('docs/configuration.md', configurationPage());
await writeFile('.env.example', envExample());
