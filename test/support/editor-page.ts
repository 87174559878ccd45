// The test page of test/support/page as it is served, and other pages' scripts: bundled in memory.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'vite';

export interface ServedFile {
  readonly type: string;
  readonly body: string;
}

const root = join(import.meta.dirname, '..', '..');
const folder = join(import.meta.dirname, 'page');

async function bundled(entry: string, plugins: Plugin[] = []): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    plugins,
    build: { write: false, target: 'es2023', lib: { entry, formats: ['es'] } },
  });
  if (!Array.isArray(built)) throw new Error('the bundle is written nowhere');
  const [chunk] = built.flatMap(({ output }) => output);
  if (chunk?.type !== 'chunk') throw new Error('the bundle is one file');
  return chunk.code;
}

/** Bundles a text of TypeScript that imports the package by its names. */
export function bundledText(text: string): Promise<string> {
  const entry = join(folder, 'text.ts');
  const packages: Readonly<Record<string, string>> = {
    'fencepost/client': join(root, 'client/index.ts'),
    'fencepost/client/words': join(root, 'client/words.ts'),
    'fencepost/kinds/record': join(root, 'kinds/record.ts'),
  };
  return bundled(entry, [
    {
      name: 'text',
      enforce: 'pre',
      resolveId: (id) => (id === entry ? entry : packages[id]),
      load: (id) => (id === entry ? text : undefined),
    },
  ]);
}

let files: Promise<ReadonlyMap<string, ServedFile>> | undefined;

async function read(): Promise<ReadonlyMap<string, ServedFile>> {
  const text = (name: string) => readFile(join(folder, name), 'utf8');
  const [html, css, code] = await Promise.all([
    text('editor.html'),
    text('editor.css'),
    bundled(join(folder, 'editor.ts')),
  ]);
  return new Map([
    ['/', { type: 'text/html', body: html }],
    ['/editor.css', { type: 'text/css', body: css }],
    ['/editor.js', { type: 'text/javascript', body: code }],
    ['/elsewhere', { type: 'text/html', body: '<!doctype html><title>elsewhere</title>' }],
  ]);
}

/** The files by their paths. The page has `{{who}}` where it is told who is signed in. */
export function editorPage(): Promise<ReadonlyMap<string, ServedFile>> {
  files ??= read();
  return files;
}
