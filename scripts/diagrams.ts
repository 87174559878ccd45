// `npm run diagrams`: writes docs/machines/ from the machines, and takes away what is of none.
// `npm run diagrams -- --check`: writes nothing, says what would change, and exits 1 if anything
// would.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { documentedSketches } from '../services/machines/documented.ts';
import { pagesOf } from '../services/machines/pages.ts';

const folder = new URL('../docs/machines/', import.meta.url);

const textOf = (name: string): Promise<string | undefined> =>
  readFile(new URL(name, folder), 'utf8').catch(() => undefined);

await mkdir(folder, { recursive: true });
const isCheck = process.argv.includes('--check');
const pages = await pagesOf(documentedSketches);
const known = new Set(pages.map(({ name }) => name));
const orphans = (await readdir(folder)).filter((name) => !known.has(name));
let stale = 0;
for (const { name, text } of pages) {
  if ((await textOf(name)) === text) continue;
  stale += 1;
  console.log(`docs/machines/${name}: ${isCheck ? 'is stale' : 'written'}`);
  if (!isCheck) await writeFile(new URL(name, folder), text);
}
for (const name of orphans) {
  stale += 1;
  console.log(`docs/machines/${name}: ${isCheck ? 'is of no machine' : 'removed'}`);
  if (!isCheck) await rm(new URL(name, folder));
}
if (isCheck && stale > 0) {
  console.log('Run npm run diagrams, and look at what changed.');
  process.exitCode = 1;
}
