// The files of the repository as the tidy test sees them: what is committed, and what could be.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

export interface SourceFile {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

const root = new URL('../../', import.meta.url);
const binary = /\.(png|jpg|ico|woff2?|gz)$/;

/**
 * Reads every file that git tracks or would track. One that was deleted a moment ago is left out.
 */
export function readTree(): readonly SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths = [...new Set(listed.split('\u0000'))].filter(
    (path) => path !== '' && !binary.test(path) && existsSync(new URL(path, root)),
  );
  return paths
    .toSorted()
    .map((path) => ({ path, text: readFileSync(new URL(path, root), 'utf8') }));
}

export const isCode = ({ path }: SourceFile): boolean => /\.(ts|tsx|mts|mjs|js)$/.test(path);

/** The folder at the root in which a file lies; empty for a file at the root. */
export const roomOf = (path: string): string =>
  path.includes('/') ? (path.split('/')[0] ?? '') : '';
