// The programs that tests start as processes of their own, built once a run. Under tsx each of them
// takes seconds of CPU before its first line, of which most is some hundred modules.
//
// - They are built as `npm start` builds server.ts: our own files only, and they lie where packages
//   are found from.
// - Outside of a test run, and for what is not built, a program runs under tsx.

import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..', '..');
/** The folder of the built programs, told to vitest's workers through their environment. */
const variable = 'TEST_PROGRAMS';
const builtName = (source: string): string => relative(root, source).replace(/\.ts$/, '');
// From another folder its name would not be found.
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** Builds all programs, for this process and those that it starts. Returns what removes them. */
export async function buildPrograms(): Promise<() => Promise<void>> {
  const cache = join(root, 'node_modules', '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'programs-'));
  const children = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.child.ts'))
    .map((name) => `test/${name}`);
  const entries = ['server.ts', 'scripts/machines.ts', ...children];
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outbase: root,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  });
  process.env[variable] = folder;
  return async () => {
    delete process.env[variable];
    await rm(folder, { recursive: true, force: true });
  };
}

/** The arguments with which node runs a file. */
export function programOf(source: string): readonly string[] {
  const folder = process.env[variable];
  const built = folder === undefined ? '' : join(folder, `${builtName(source)}.mjs`);
  if (built !== '' && existsSync(built)) return [built];
  return source.endsWith('.ts') ? ['--import', tsx, source] : [source];
}
