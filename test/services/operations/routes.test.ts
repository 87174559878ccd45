// Branches and operations over HTTP, against the fake Neon. Every answer is parsed by its route's
// schema, by the client of the tests.

import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { branchesRoutes } from '../../../services/operations/routes.ts';
import { readEvents } from '../../support/event-stream.ts';
import { openApi, tokenOf } from '../../support/open-api.ts';
import { fresh, useOpened } from '../../support/opened.ts';
import {
  ended,
  fakeWithDev,
  forceRun,
  operating,
  providerOf,
  readRun,
} from '../../support/operations.ts';

const database = useOpened();

async function open(db = database()) {
  const fake = await fakeWithDev();
  fake.addBranch('precious', 'main', true);
  const provider = providerOf(fake);
  const routes = branchesRoutes({ database: db, provider, pauseMs: 5 });
  const api = await openApi({ database: db, routes });
  const reset = (branch: string, body: object = {}, key?: string) =>
    api.post(`/v1/branches/${encodeURIComponent(branch)}/resets`, body, {
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
  return { fake, provider, api, routes, reset };
}
type Opened = Awaited<ReturnType<typeof open>>;

const codeOf = ({ status, body }: Awaited<ReturnType<Opened['reset']>>) => [status, body['code']];

describe('GET /v1/branches', () => {
  it('lists the branches and says which are never changed', async () => {
    const { api, provider } = await open();
    const { status, body } = await api.get('/v1/branches');
    expect([status, body['provider']]).toEqual([200, provider.name]);
    expect(body['items']).toMatchObject([
      { name: 'main', parent: null, fixed: 'root', hasChildren: true },
      { name: 'dev', parent: 'main', fixed: null, state: 'ready' },
      { name: 'precious', fixed: 'protected' },
    ]);
  });

  it('passes on when a provider wants to be asked again', async () => {
    const { api, fake } = await open();
    fake.rule('branches', { status: 429, headers: { 'retry-after': '7' } }, 2);
    for (const asked of [api.get('/v1/branches'), api.post('/v1/branches/dev/resets', {})]) {
      const answer = await asked;
      expect(codeOf(answer)).toEqual([503, 'provider_unavailable']);
      expect(answer.headers.get('retry-after')).toBe('7');
    }
  });
});

describe('a service without branches', () => {
  it('says so, and still shows operations', async () => {
    const api = await openApi({
      database: database(),
      routes: branchesRoutes({ database: database() }),
    });
    const answers = [
      await api.get('/v1/branches'),
      await api.post('/v1/branches', { name: 'a', parent: 'b' }),
      await api.post('/v1/branches/a/resets', {}),
      await api.call('DELETE', '/v1/branches/a'),
    ];
    for (const each of answers) expect(codeOf(each)).toEqual([404, 'no_branch_provider']);
    expect((await api.get('/v1/operations')).status).toBe(200);
  });
});

describe('POST /v1/branches/{name}/resets', () => {
  it('is accepted with the place of its operation, which a worker carries out', async () => {
    const { api, provider, reset } = await open();
    const { status, body, location } = await reset('dev', { keepAs: 'before' });
    expect([status, body['status']]).toEqual([202, 'queued']);
    expect(location).toBe(`/v1/operations/${body['id']}`);
    await ended(await operating(database(), provider), database(), String(body['id']));
    const shown = await api.get(String(location));
    expect(shown.body).toMatchObject({
      ...{ status: 'succeeded', outcome: 'ok', action: 'reset', branch: 'dev', keepAs: 'before' },
      ...{ requestedBy: 'tester', error: null, operations: [{ status: 'finished' }] },
    });
    const { body: listed } = await api.get('/v1/branches');
    expect(JSON.stringify(listed)).toContain('"before"');
  });

  it('is told of the operation that has the branch', async () => {
    const { reset } = await open();
    const first = await reset('dev');
    const second = await reset('dev');
    expect(codeOf(second)).toEqual([409, 'in_flight']);
    expect(second.body['operation']).toBe(first.body['id']);
  });

  it('is the same operation under the same key, also when that has ended', async () => {
    const { api, reset } = await open();
    const key = randomUUID();
    const first = await reset('dev', {}, key);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const again = await reset('dev', {}, key);
    expect([again.status, again.body, again.location]).toEqual([202, first.body, first.location]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    await api.post(`${first.location}/cancel`);
    const late = await reset('dev', {}, key);
    expect(late.body).toEqual({ id: first.body['id'], status: 'canceled' });
  });

  it('under a key is not mistaken for another change of that caller', async () => {
    const { api, reset } = await open();
    const key = randomUUID();
    const { location } = await reset('dev', {}, key);
    expect(codeOf(await reset('dev', { keepAs: 'x' }, key))).toEqual([
      ...[422, 'idempotency_key_reused'],
    ]);
    const created = await api.post(
      '/v1/branches',
      { name: 'new', parent: 'main' },
      { headers: { 'idempotency-key': key } },
    );
    expect(codeOf(created)).toEqual([422, 'idempotency_key_reused']);
    const token = await tokenOf('bob');
    const others = await api.post(
      '/v1/branches',
      { name: 'new', parent: 'main' },
      { token, headers: { 'idempotency-key': key } },
    );
    expect(others.status).toBe(202);
    expect(others.location).not.toBe(location);
  });

  it('that was refused has not used its key up', async () => {
    const { fake, reset } = await open();
    const key = randomUUID();
    expect(codeOf(await reset('later', {}, key))).toEqual([404, 'branch_not_found']);
    fake.addBranch('later', 'main');
    expect((await reset('later', {}, key)).status).toBe(202);
  });

  it.each([
    ['gone', {}, 404, 'branch_not_found'],
    ['main', {}, 409, 'branch_fixed'],
    ['precious', {}, 409, 'branch_fixed'],
    ['dev', { keepAs: 'main' }, 409, 'branch_exists'],
    ['dev', { keepAs: 'two\nlines' }, 422, 'bad_branch_name'],
    ['dev', { keepAs: 'nul\u0000' }, 422, 'bad_branch_name'],
    ['dev', { keepAs: '\ud800' }, 422, 'bad_branch_name'],
    ['dev', { keepAs: 'x'.repeat(257) }, 422, 'bad_branch_name'],
    ['dev', { keepAs: '' }, 422, 'invalid_request'],
    ['dev', { force: true }, 422, 'invalid_request'],
    ["it's; drop $$", {}, 404, 'branch_not_found'],
    ['nul\u0000', {}, 400, 'malformed_request'],
    ['a/b', {}, 404, 'branch_not_found'],
  ] as const)('of %j with %j is refused: %d %s', async (branch, body, status, code) => {
    const { fake, reset } = await open();
    expect(codeOf(await reset(branch, body))).toEqual([status, code]);
    expect(fake.issued()).toEqual([]);
  });

  it('takes no key with blanks', async () => {
    const { reset } = await open();
    expect(codeOf(await reset('dev', {}, 'a b'))).toEqual([400, 'invalid_headers']);
  });
});

describe('POST /v1/branches and DELETE /v1/branches/{name}', () => {
  it('create and delete, and name what stands against it', async () => {
    const { api, provider, fake } = await open();
    const create = (name: string, parent: string) => api.post('/v1/branches', { name, parent });
    const remove = (name: string) => api.call('DELETE', `/v1/branches/${name}`);
    const workers = await operating(database(), provider);
    const made = await create('leaf', 'dev');
    expect(made.status).toBe(202);
    await ended(workers, database(), String(made.body['id']));
    expect(codeOf(await create('leaf', 'dev'))).toEqual([409, 'branch_exists']);
    const orphan = await create('other', 'gone');
    expect(codeOf(orphan)).toEqual([422, 'parent_not_found']);
    expect(orphan.body['errors']).toMatchObject([{ pointer: '/parent' }]);
    const misnamed = await create('two\nlines', 'main');
    expect(misnamed.body['errors']).toMatchObject([{ pointer: '/name' }]);
    expect(codeOf(await remove('dev'))).toEqual([409, 'branch_has_children']);
    expect(codeOf(await remove('main'))).toEqual([409, 'branch_fixed']);
    const removed = await remove('leaf');
    await ended(workers, database(), String(removed.body['id']));
    expect(fake.names()).not.toContain('leaf');
  });
});

describe('GET /v1/operations', () => {
  it('lists in pages, newest first, by status, branch and action', async () => {
    const { api, fake, reset } = await open(await fresh());
    const ids: unknown[] = [];
    for (const branch of ['a', 'b', 'c', 'd', 'e']) {
      fake.addBranch(branch, 'main');
      ids.unshift((await reset(branch)).body['id']);
    }
    await api.post(`/v1/operations/${ids[0]}/cancel`);
    const listed = async (query: string) => {
      const { body } = await api.get(`/v1/operations?${query}`);
      const items = body['items'] as { readonly id: string }[];
      return { ids: items.map(({ id }) => id), next: body['next'] };
    };
    const first = await listed('limit=2');
    const second = await listed(`limit=2&cursor=${first.next}`);
    const third = await listed(`limit=2&cursor=${second.next}`);
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(ids);
    expect(third.next).toBeNull();
    expect(await listed('status=canceled')).toEqual({ ids: [ids[0]], next: null });
    expect((await listed('branch=c')).ids).toEqual([ids[2]]);
    expect((await listed('action=delete')).ids).toEqual([]);
    const foreign = await api.get(`/v1/operations?status=queued&cursor=${first.next}`);
    expect(codeOf(foreign)).toEqual([400, 'invalid_query']);
  });
});

describe('GET /v1/operations/{id}', () => {
  it('says what may be done with it by whom, and why not', async () => {
    const { api, reset } = await open();
    const { location } = await reset('dev');
    const choicesFor = async (token?: string) => {
      const { body } = await api.get(String(location), { ...(token && { token }) });
      const choices = body['choices'] as { name: string; allowed: boolean }[];
      return choices.find(({ name }) => name === 'cancel');
    };
    expect(await choicesFor()).toMatchObject({ allowed: true, because: [] });
    expect(await choicesFor(await tokenOf('eve', ['operations:read']))).toMatchObject({
      ...{ allowed: false, because: [{ code: 'insufficient_scope' }] },
    });
    await api.post(`${location}/cancel`);
    expect(await choicesFor()).toMatchObject({ because: [{ code: 'wrong_status' }] });
  });

  it.each(['GET', 'POST'])('knows nothing of an id that is of no operation: %s', async (method) => {
    const { api } = await open();
    const path = `/v1/operations/${randomUUID()}${method === 'POST' ? '/cancel' : ''}`;
    expect(codeOf(await api.call(method, path))).toEqual([404, 'operation_not_found']);
    expect(codeOf(await api.get('/v1/operations/7'))).toEqual([400, 'invalid_path']);
  });
});

describe('POST /v1/operations/{id}/cancel', () => {
  it('takes back what is not issued, once a key, and nothing else', async () => {
    const { api, reset } = await open();
    const { location, body } = await reset('dev');
    const headers = { 'idempotency-key': randomUUID() };
    const cancel = (sent = {}) => api.post(`${location}/cancel`, undefined, sent);
    const first = await cancel({ headers });
    expect([first.status, first.body]).toEqual([200, { id: body['id'], status: 'canceled' }]);
    expect((await cancel({ headers })).headers.get('idempotency-replayed')).toBe('true');
    expect(codeOf(await cancel())).toEqual([409, 'not_cancelable']);
    const second = await reset('dev');
    const id = String(second.body['id']);
    await forceRun(
      database(),
      id,
      `status = 'running', fence = 1, lease_owner = 'worker',
      lease_expires_at = now() + interval '1 hour', deadline_at = now() + interval '1 hour',
      issued_at = now()`,
    );
    const refused = await api.post(`${second.location}/cancel`);
    expect(refused.body).toMatchObject({
      ...{ status: 409, operationStatus: 'running', because: ['already_issued'] },
    });
    expect((await readRun(database(), id)).status).toBe('running');
  });
});

describe('GET /v1/operations/{id}/events', () => {
  async function follow({ api, routes }: Opened, location: string, lastEventId?: string) {
    const route = routes.find((each) => 'events' in each);
    if (!route || !('events' in route)) throw new Error('there is no stream');
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const response = await fetch(`${api.url}${location}/events`, {
      headers: {
        authorization: `Bearer ${await tokenOf('ada')}`,
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      signal: leaving.signal,
    });
    const { next } = readEvents(route, response);
    async function rest() {
      const all = [];
      for (let event = await next(); event; event = await next()) all.push(event);
      return all;
    }
    return { response, next, rest };
  }

  it('tells each transition from the first on, and ends with the operation', async () => {
    const opened = await open();
    const { body, location } = await opened.reset('dev');
    const stream = await follow(opened, String(location));
    const workers = await operating(database(), opened.provider);
    const all = await stream.rest();
    await ended(workers, database(), String(body['id']));
    const names = all.map(({ event, data }) => (data as { event?: string }).event ?? event);
    expect(names).toEqual([
      ...['claim', 'intend', 'issued', 'polled', 'polled', 'succeed', 'ended'],
    ]);
    expect(all.at(-1)?.data).toEqual({ status: 'succeeded', outcome: 'ok', error: null });
    const middle = all[2]?.id ?? '';
    expect(await (await follow(opened, String(location), middle)).rest()).toEqual(all.slice(3));
    const last = all.at(-2)?.id ?? '';
    expect(await (await follow(opened, String(location), last)).rest()).toEqual(all.slice(-1));
  });

  it('refuses an id that is no seq, and an operation that is none', async () => {
    const opened = await open();
    const { location } = await opened.reset('dev');
    for (const id of ['latest', '-1', '1.5', '99999999999']) {
      expect((await follow(opened, String(location), id)).response.status).toBe(400);
    }
    const nowhere = `/v1/operations/${randomUUID()}`;
    expect((await follow(opened, nowhere)).response.status).toBe(404);
  });
});
