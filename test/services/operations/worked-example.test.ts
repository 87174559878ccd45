// The worked example of docs/branch-resets.md, as it stands there: on the embedded server, block
// after block in one folder, and each answers what the page says.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { spawnServer } from '../../support/server-process.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(root, 'docs/branch-resets.md'), 'utf8');
const section = page.slice(page.indexOf('### A worked example'), page.indexOf('## Over HTTP'));
/** Each command, with what it prints where the page says so. */
const blocks = [...section.matchAll(/^```\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?/gms)].map(
  ([, command = '', output]) => ({ command, output }),
);
const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

it('the worked example of a branch reset works as it stands there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fencepost-branches-'));
  // Postgres runs as another user where the tests run as root.
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const server = spawnServer(folder, { LOG_LEVEL: 'debug' });
  onTestFinished(async () => {
    server.kill('SIGTERM');
    await server.ended;
  });
  const url = await server.url();
  const env = { PATH: process.env['PATH'], NODE_PATH: join(root, 'node_modules') };
  const run = async (command: string, args: readonly string[]) =>
    (await promisify(execFile)(command, args, { cwd: folder, env })).stdout;
  const tsx = join(root, 'node_modules/tsx/dist/loader.mjs');
  const script = join(root, 'scripts/database-url.ts');
  // Asked once: it is the same for every database but for the name, and starts slowly.
  const address = (await run('node', ['--import', tsx, script, 'NAME'])).trim();
  const prelude = `set -e -o pipefail\naddress() { echo "${address}" | sed "s/NAME$/$1/"; }\n`;
  const [functions = ''] = /^sql\(\) \{.*?^\}\n/ms.exec(section) ?? [];
  let operation = '';
  let shown = '';
  for (const { command, output } of blocks) {
    const text = `${prelude}${functions}${command}`
      .replaceAll('http://127.0.0.1:3000', url)
      .replaceAll('<id>', operation)
      .replaceAll('npm run -s database-url --', 'address')
      .replaceAll('curl ', 'curl --fail-with-body ');
    const stdout = await run('bash', ['-c', text]);
    if (output !== undefined) {
      expect(`${stdout.trimEnd()}\n`.replace(id, '<id>'), command).toBe(output);
    }
    if (stdout.startsWith('{')) [operation = operation] = id.exec(stdout) ?? [];
    shown = stdout;
  }
  expect(blocks).toHaveLength(8);
  expect(JSON.parse(shown)).toMatchObject({
    ...{ id: operation, status: 'succeeded', action: 'reset', branch: 'dev' },
    operations: [{ detail: expect.stringMatching(/^the parent was closed for \d+ ms$/) }],
  });
});
