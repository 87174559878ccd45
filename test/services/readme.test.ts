// The commands of the README and of the worked example of plans, run as they stand there: what a
// newcomer pastes works.

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { blocksOf, isCurl, reader } from '../support/pasted.ts';
import { spawnServer } from '../support/server-process.ts';

const database = useDatabase();
const readme = blocksOf('README.md');
const plans = blocksOf('docs/proposals.md');

/** Blocks that other tests run, or that are a picture. */
const elsewhere = [/^npm ci && npm start\n$/, /┌─+ process/, /^npm run demo:crash\n$/];
/** The demonstration by hand, which test/server.test.ts plays. */
const byHand = [/^node -e .*2525/, /^kill -9 \$\(node -p /];

describe("the README's blocks, and those of the worked example of plans,", () => {
  it('are each run by a test', () => {
    const rest = [...readme, ...plans].filter(
      (block) => !isCurl(block) && ![...elsewhere, ...byHand].some((each) => each.test(block)),
    );
    expect(rest).toEqual([]);
    expect([readme, plans].map((blocks) => blocks.filter(isCurl).length)).toEqual([6, 7]);
  });

  it('do what they say', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fencepost-readme-'));
    await chmod(folder, 0o755);
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const server = spawnServer(folder, { DATABASE_URL: database(), LOG_LEVEL: 'debug' });
    onTestFinished(async () => {
      server.kill('SIGKILL');
      await server.ended;
    });
    const url = await server.url();

    const [enqueue, look, propose, approve, execute, see] = readme.filter(isCurl);
    const mail = reader(url, folder);
    const { id } = await mail.ask(enqueue);
    await server.logged('delivery: sent');
    expect(await mail.ask(look)).toMatchObject({ id, status: 'sent' });
    expect(server.output()).toContain('$(cat .fencepost/token)');
    const short = reader(url, folder);
    await short.ask(propose);
    expect(await short.ask(approve)).toMatchObject({ status: 'approved' });
    expect(await short.ask(execute)).toMatchObject({ outcome: 'started' });
    await server.logged('proposal: ended here');
    expect(await short.ask(see)).toMatchObject({ status: 'executed', receipts: [{ step: 0 }] });

    const example = reader(url, folder);
    const [first, preview, yes, run, follow = '', whole, undo] = plans.filter(isCurl);
    const proposed = await example.ask(first);
    const sentence = expect.stringMatching(/“(Grace joined\.|Welcome)”/);
    expect(await example.ask(preview)).toMatchObject({
      steps: [
        { sentence, outcome: 'ok' },
        { sentence, outcome: 'ok' },
      ],
    });
    expect(await example.ask(yes)).toMatchObject({ status: 'approved' });
    expect(await example.ask(run)).toMatchObject({ outcome: 'started' });
    const events = [...(await example.paste(follow)).matchAll(/^event: ?(\w+)$/gm)];
    const names = ['transition', 'transition', 'step', 'step', 'ended'];
    expect(events.map(([, name]) => name)).toEqual(names);
    expect(await example.ask(whole)).toMatchObject({
      ...{ status: 'executed', planHash: proposed.planHash },
      receipts: [{ output: { id: expect.any(String) } }, { output: { id: expect.any(String) } }],
    });
    expect(await example.ask(undo)).toMatchObject({
      ...{ status: 'pending', linkedTo: proposed.id },
      cannotUndo: [{ step: 1, tool: 'delivery.enqueue' }],
    });
  });
});
