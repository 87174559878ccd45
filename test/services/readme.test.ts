// The README's commands, run as they stand there: what a newcomer pastes works.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { spawnServer } from '../support/server-process.ts';

const database = useDatabase();
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = '']) => block);
const isCurl = (block: string) => block.startsWith('curl ');

/** Blocks that other tests run, or that are a picture. */
const elsewhere = [/^npm ci && npm start\nnpm test\n$/, /┌─+ process/, /^npm run demo:crash\n$/];
/** The demonstration by hand, which test/server.test.ts plays. */
const byHand = [/^node -e .*2525/, /^kill -9 \$\(node -p /];

describe("the README's blocks", () => {
  it('are each run by a test', () => {
    const rest = blocks.filter(
      (block) => !isCurl(block) && ![...elsewhere, ...byHand].some((each) => each.test(block)),
    );
    expect(rest).toEqual([]);
    expect(blocks.filter(isCurl)).toHaveLength(2);
  });

  it('enqueue a mail and show it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fencepost-readme-'));
    await chmod(folder, 0o755);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const server = spawnServer(folder, { DATABASE_URL: database(), LOG_LEVEL: 'debug' });
    onTestFinished(async () => {
      server.kill('SIGKILL');
      await server.ended;
    });
    const url = await server.url();
    let id = '';
    const run = async (block: string) => {
      const command = block
        .replaceAll('http://127.0.0.1:3000', url)
        .replaceAll('<id>', id)
        .replaceAll('curl ', 'curl --fail-with-body ');
      const { stdout } = await promisify(execFile)('bash', ['-c', command], { cwd: folder });
      return JSON.parse(stdout);
    };
    const [enqueue = '', look = ''] = blocks.filter(isCurl);
    ({ id } = await run(enqueue));
    await server.logged('delivery: sent');
    expect(await run(look)).toMatchObject({ id, status: 'sent' });
    expect(server.output()).toContain('$(cat .fencepost/token)');
  });
});
