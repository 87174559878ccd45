// The test page of test/support/page as it is served: bundled in memory, once a process.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';

export interface ServedFile {
  readonly type: string;
  readonly body: string;
}

const folder = join(import.meta.dirname, 'page');

async function bundled(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2023',
      lib: { entry: join(folder, 'editor.ts'), formats: ['es'] },
    },
  });
  if (!Array.isArray(built)) throw new Error('the bundle is written nowhere');
  const [chunk] = built.flatMap(({ output }) => output);
  if (chunk?.type !== 'chunk') throw new Error('the bundle is one file');
  return chunk.code;
}

let files: Promise<ReadonlyMap<string, ServedFile>> | undefined;

async function read(): Promise<ReadonlyMap<string, ServedFile>> {
  const text = (name: string) => readFile(join(folder, name), 'utf8');
  const [html, css, code] = await Promise.all([text('editor.html'), text('editor.css'), bundled()]);
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
