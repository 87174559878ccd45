// The worked example of docs/documents-api.md, pasted as it stands there: two tabs, a conflict, and
// an answer that was lost.

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { useDatabase } from '../../support/database.ts';
import { blocksOf, isCurl, reader } from '../../support/pasted.ts';
import { spawnServer } from '../../support/server-process.ts';

const database = useDatabase();
const refused = z.object({ stdout: z.string() });

it('the worked example of documents does what it says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fencepost-example-'));
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const server = spawnServer(folder, { DATABASE_URL: database(), LOG_LEVEL: 'info' });
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await server.ended;
  });
  const { ask, paste } = reader(await server.url(), folder);
  const blocks = blocksOf('docs/documents-api.md');
  expect(blocks.map(isCurl)).toEqual(Array(4).fill(true));
  const [create, save, stale = '', again] = blocks;

  expect(await ask(create)).toMatchObject({ kind: 'record', version: 1 });
  const saved = await ask(save);
  expect(saved).toMatchObject({ verdict: 'saved', version: 2 });
  const failure = await paste(stale).catch((error: unknown) => error);
  expect(JSON.parse(refused.parse(failure).stdout)).toMatchObject({
    ...{ status: 409, code: 'version_conflict' },
    conflict: { version: 2, saveId: saved['saveId'], baseKnown: true, contentUnchanged: false },
  });
  expect(await ask(again)).toMatchObject({ verdict: 'saved', version: 3 });
  expect(await ask(again)).toMatchObject({ verdict: 'replayed', version: 3 });
});
