// One contract, on each provider: what the worker relies on.

import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neonProvider } from '../../../services/operations/neon.ts';
import { postgresProvider } from '../../../services/operations/postgres.ts';
import type { Provider } from '../../../services/operations/provider.ts';
import { makeRoot } from '../../support/branch-server.ts';
import { asked, driven, never, polledToEnd, told } from '../../support/driven.ts';
import { openFakeNeon } from '../../support/fake-neon.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();

interface Given {
  readonly provider: Provider;
  /** A root, and the beginning of every other name. */
  readonly root: string;
}

const providers: Readonly<Record<string, () => Promise<Given>>> = {
  async postgres() {
    const provider = postgresProvider({ database: database(), log: pino({ enabled: false }) });
    const root = await makeRoot();
    onTestFinished(() => provider.close());
    return { provider, root };
  },
  async neon() {
    const fake = await openFakeNeon();
    onTestFinished(() => fake.close());
    fake.addBranch('main');
    const { url, key, project } = fake;
    return { provider: neonProvider({ url, key, project, timeoutMs: 5000 }), root: 'main' };
  },
};

describe.each(Object.keys(providers))('%s', (name) => {
  const given = () => (providers[name] as () => Promise<Given>)();
  const listed = async (provider: Provider, branch: string) =>
    told(await provider.list(never)).find((each) => each.name === branch);

  it('creates, resets and deletes a branch, and lists it in between', async () => {
    const { provider, root } = await given();
    const branch = `${root}_dev`;
    expect(await listed(provider, root)).toMatchObject({ parent: null, fixed: 'root' });
    expect(await driven(provider, { action: 'create', branch, parent: root })).toMatchObject({
      state: 'done',
    });
    const ready = { parent: root, state: 'ready', fixed: null, hasChildren: false };
    expect(await listed(provider, branch)).toMatchObject(ready);
    expect(await listed(provider, root)).toMatchObject({ hasChildren: true });
    expect(await driven(provider, { action: 'reset', branch })).toMatchObject({ state: 'done' });
    expect(await listed(provider, branch)).toMatchObject(ready);
    expect(await driven(provider, { action: 'delete', branch })).toMatchObject({ state: 'done' });
    expect(await listed(provider, branch)).toBeUndefined();
  });

  it('finds by the mark what was asked for after it, and nothing else', async () => {
    const { provider, root } = await given();
    const branch = `${root}_dev`;
    await driven(provider, { action: 'create', branch, parent: root });
    const change = { action: 'reset', branch } as const;
    const mark = told(await provider.mark(change, never));
    expect(told(await provider.since(change, mark, never))).toEqual([]);
    const issued = told(await asked(provider, change));
    const found = told(await provider.since(change, mark, never));
    expect(found.map(({ id }) => id)).toEqual(issued.map(({ id }) => id));
    await polledToEnd(provider, change, found);
    const other = { action: 'reset', branch: root } as const;
    expect(told(await provider.since(other, mark, never))).toEqual([]);
  });

  it('keeps what was there under a name', async () => {
    const { provider, root } = await given();
    const branch = `${root}_dev`;
    await driven(provider, { action: 'create', branch, parent: root });
    const keepAs = `${root}_before`;
    await driven(provider, { action: 'reset', branch, keepAs });
    expect(await listed(provider, keepAs)).toMatchObject({ parent: root });
  });

  it('says of a name why no branch can have it', async () => {
    const { provider } = await given();
    for (const name of ['', 'two\nlines', 'nul\u0000', '\ud800', 'x'.repeat(300)]) {
      expect(provider.nameFault(name), JSON.stringify(name)).toEqual(expect.any(String));
    }
    for (const name of ['dev', "it's; $$", 'ü "1"'])
      expect(provider.nameFault(name)).toBeUndefined();
  });

  it('refuses for certain what can never be', async () => {
    const { provider, root } = await given();
    const certain = { result: 'refused', passing: false };
    const missing = { action: 'reset', branch: `${root}_none` } as const;
    expect(await asked(provider, missing)).toMatchObject(certain);
    expect(await asked(provider, { action: 'reset', branch: root })).toMatchObject(certain);
    const orphan = { action: 'create', branch: `${root}_a`, parent: `${root}_none` } as const;
    expect(await asked(provider, orphan)).toMatchObject(certain);
    const branch = `${root}_dev`;
    await driven(provider, { action: 'create', branch, parent: root });
    expect(await asked(provider, { action: 'create', branch, parent: root })).toMatchObject(
      certain,
    );
    await driven(provider, { action: 'create', branch: `${root}_leaf`, parent: branch });
    expect(await asked(provider, { action: 'delete', branch })).toMatchObject(certain);
  });
});
