// What the commands say to somebody who mistypes: a line and the usage, and they exit with 1.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startChild } from '../support/child.ts';

it.each([
  ['scripts/token.ts', ['--help'], /^Unknown option '--help'.*\n\nnpm run token -- --sub/],
  ['scripts/token.ts', [], /^--sub and --scopes are needed\n\nnpm run token -- --sub/],
  ['scripts/crash-sweep.ts', ['--help'], /^Unknown option '--help'.*\n\nnpm run crash-sweep -- </],
  ['scripts/crash-sweep.ts', ['nonsense'], /^npm run crash-sweep -- <machine>/],
  [
    'scripts/crash-sweep.ts',
    ['outbox', '-3'],
    /^Unknown option '-3'.*\n\nnpm run crash-sweep -- </,
  ],
  ['scripts/crash-sweep.ts', ['outbox', 'few'], /^npm run crash-sweep -- <machine>/],
  ['scripts/database-url.ts', ['--help'], /^npm run -s database-url -- /],
  ['bench/run.ts', ['nonsense'], /^npm run bench -- <name>, one of: /],
] as const)('%s with %j explains itself and exits with 1', async (file, args, told) => {
  const path = join(import.meta.dirname, '../..', file);
  const { code, output } = await startChild(path, args, { env: { DATABASE_URL: 'none' } }).exit;
  expect(output).toMatch(told);
  expect(output).not.toContain('    at ');
  expect(code).toBe(1);
});
