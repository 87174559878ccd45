// The provider `neon`: how certain each end of a call is, and that the key is told to nobody else.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { neonProvider } from '../../../services/operations/neon.ts';
import { asked, never, told } from '../../support/driven.ts';
import { ownError } from '../../support/fake-neon.ts';
import { fakeWithDev, providerOf, resetDev } from '../../support/operations.ts';

/** A port of this host where nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe('a call', () => {
  it.each([
    [423, '', 'refused', true],
    [423, ownError('locked'), 'refused', true],
    [429, '<html>', 'refused', true],
    [503, ownError('busy'), 'refused', true],
    [503, '<html>', 'unclear', undefined],
    [400, ownError('bad'), 'refused', false],
    [409, ownError('no'), 'refused', false],
    [404, '<html>', 'unclear', undefined],
    [408, ownError('slow'), 'unclear', undefined],
    [500, ownError('oh'), 'unclear', undefined],
    [502, '', 'unclear', undefined],
    [302, '', 'unclear', undefined],
    [204, '', 'unclear', undefined],
  ])('that is answered by %d and %j is %s', async (status, body, result, passing) => {
    const fake = await fakeWithDev();
    fake.rule('restore', { status, body, headers: { 'retry-after': '3' } });
    const answer = await asked(providerOf(fake), resetDev);
    expect(answer).toMatchObject({ result, ...(passing !== undefined && { passing }) });
  });

  it('that reaches nobody is refused, and may be tried again', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const provider = neonProvider({ url, key: 'k', project: 'p', timeoutMs: 1000 });
    expect(await asked(provider, resetDev)).toMatchObject({ result: 'refused', passing: true });
  });

  it('that is never answered ends in time, and is unclear', async () => {
    const fake = await fakeWithDev();
    fake.rule('restore', 'hang');
    expect(await asked(providerOf(fake, 300), resetDev)).toMatchObject({ result: 'unclear' });
  });

  it('is not made after the send window', async () => {
    const fake = await fakeWithDev();
    const answer = await providerOf(fake).issue(resetDev, performance.now() - 1);
    expect(answer).toMatchObject({ result: 'refused', passing: true });
    expect(fake.journal.filter(({ kind }) => kind === 'restore')).toEqual([]);
  });

  it('never shows the key, also where the other side repeats it', async () => {
    const fake = await fakeWithDev();
    const provider = providerOf(fake);
    fake.rule('restore', { status: 400, body: ownError(`bad key ${fake.key}`) });
    fake.rule('restore', { status: 500, body: `<html>${fake.key}` });
    fake.rule('restore', { status: 200, body: `{"key":"${fake.key}"}` });
    for (let i = 0; i < 3; i += 1) {
      const said = JSON.stringify(await asked(provider, resetDev));
      expect(said).toContain('***');
      expect(said).not.toContain(fake.key);
    }
  });

  it('with a key that is not valid is refused for good', async () => {
    const { url, project } = await fakeWithDev();
    const provider = neonProvider({ url, key: 'wrong', project, timeoutMs: 1000 });
    const refused = { result: 'refused', passing: false };
    expect(await provider.mark(resetDev, never)).toMatchObject(refused);
    expect(await provider.list(never)).toMatchObject(refused);
  });
});

describe('a branch', () => {
  it('is fixed where it is a root or protected, and busy while it is changed', async () => {
    const fake = await fakeWithDev();
    fake.addBranch('precious', 'main', true);
    fake.addOperation('dev', 'create_branch', ['running']);
    const listed = told(await providerOf(fake).list(never));
    expect(listed).toMatchObject([
      { name: 'main', parent: null, fixed: 'root', state: 'ready', hasChildren: true },
      { name: 'dev', parent: 'main', fixed: null, state: 'busy', hasChildren: false },
      { name: 'precious', parent: 'main', fixed: 'protected', state: 'ready' },
    ]);
  });
});
