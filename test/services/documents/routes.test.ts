// The documents' API as a client sees it. Every answer is checked by its route's schema on the way.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { largestBody } from '../../../kinds/wire.ts';
import { printCursor } from '../../../services/http/keyset.ts';
import { openDocumentApi, saving } from '../../support/document-api.ts';
import { typed } from '../../support/documents.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const api = () => openDocumentApi(database());

describe('documents over HTTP', () => {
  it('are created once under a key, and once under an id', async () => {
    const { ada } = await api();
    const body = { kind: 'record', name: 'notes', content: typed('x') };
    const key = { 'idempotency-key': randomUUID() };
    const first = await ada.call('POST', '/v1/documents', body, key);
    const again = await ada.call('POST', '/v1/documents', body, key);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(first.location).toBe(`/v1/documents/${first.body['id']}`);
    expect(first.headers.get('etag')).toBe('"1"');

    const named = { ...body, id: randomUUID() };
    expect((await ada.call('POST', '/v1/documents', named)).status).toBe(201);
    expect((await ada.call('POST', '/v1/documents', named)).status).toBe(200);
    const other = await ada.call('POST', '/v1/documents', { ...named, content: typed('y') });
    expect(other).toMatchObject({ status: 409, body: { code: 'document_exists' } });
  });

  it('come back as they were sent, to the letter', async () => {
    const { ada, api: client, document } = await api();
    const id = await document();
    const content = '{"attributes":{"z":1.50,"__proto__":{"10":-0,"9":1e3},"a":"\\u00e9"}}';
    const request = JSON.stringify(saving(1, '')).replace(/"content":.*/, `"content":${content}}`);
    expect((await ada.call('PUT', `/v1/documents/${id}`, request)).status).toBe(200);
    const response = await fetch(`${client.url}/v1/documents/${id}`, {
      headers: { authorization: `Bearer ${ada.token}` },
    });
    expect(await response.text()).toContain(`"content":${content}}`);
    expect(response.headers.get('etag')).toBe('"2"');
  });

  it('are listed in pages', async () => {
    const { ada, document } = await api();
    const ids = [await document(), await document(), await document()].toReversed();
    const first = await ada.call('GET', '/v1/documents?limit=2');
    const items = first.body['items'] as readonly { id: string }[];
    expect(items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const second = await ada.call('GET', `/v1/documents?limit=2&cursor=${first.body['next']}`);
    expect((second.body['items'] as readonly { id: string }[])[0]?.id).toBe(ids[2]);
    const never = { createdAt: '0000-01-01T00:00:00Z', id: randomUUID() };
    const made = printCursor({ deleted: false }, never);
    expect((await ada.call('GET', `/v1/documents?cursor=${made}`)).status).toBe(400);
    const other = await ada.call('GET', `/v1/documents?deleted=true&cursor=${first.body['next']}`);
    expect(other).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
  });

  it('are renamed, deleted and brought back', async () => {
    const { ada, bob, document } = await api();
    const id = await document('x');
    const path = `/v1/documents/${id}`;
    expect((await bob.call('PUT', `${path}/name`, { name: 'better' })).status).toBe(200);
    expect(await bob.call('DELETE', path)).toMatchObject({ body: { code: 'owner_only' } });
    const moved = await ada.call('DELETE', path, undefined, { 'if-match': '"7"' });
    expect(moved).toMatchObject({
      status: 412,
      body: { code: 'version_moved', currentVersion: 1 },
    });
    expect((await ada.call('DELETE', path, undefined, { 'if-match': '"1"' })).status).toBe(200);
    expect(await ada.call('GET', path)).toMatchObject({
      status: 410,
      body: { code: 'document_gone', deletedBy: 'ada' },
    });
    expect(await ada.call('POST', `${path}/restore`)).toMatchObject({
      status: 200,
      body: { name: 'better', version: 1, content: typed('x') },
    });
  });

  it('are not there for others', async () => {
    const { eve, document } = await api();
    const path = `/v1/documents/${await document()}`;
    const tries = [
      ...[eve.call('GET', path), eve.call('PUT', path, saving(1, 'E')), eve.call('DELETE', path)],
      ...[eve.call('GET', `${path}/revisions`), eve.call('GET', `${path}/revisions/1`)],
      ...[eve.call('GET', `${path}/grants`), eve.call('POST', `${path}/restore`)],
      eve.call('PUT', `${path}/name`, { name: 'mine' }),
      eve.call('POST', `${path}/abandon`, { writer: randomUUID(), saveIds: [randomUUID()] }),
      eve.call('GET', `/v1/documents/events?id=${path.split('/').at(-1)}`),
    ];
    for (const { status, body } of await Promise.all(tries)) {
      expect([status, body['code']]).toEqual([404, 'document_not_found']);
    }
    expect((await eve.call('GET', '/v1/documents')).body['items']).toEqual([]);
  });

  it('have a history that can be read, named and brought back', async () => {
    const { ada, document } = await api();
    const path = `/v1/documents/${await document('x')}`;
    await ada.call('PUT', path, saving(1, 'A'));
    const list = await ada.call('GET', `${path}/revisions?limit=1`);
    expect(list.body).toMatchObject({ items: [{ version: 2, by: 'ada' }] });
    const rest = await ada.call('GET', `${path}/revisions?cursor=${list.body['next']}`);
    expect(rest.body).toMatchObject({ items: [{ version: 1 }], next: null });
    await ada.call('PUT', `${path}/revisions/1/name`, { name: 'as sent' });
    expect((await ada.call('GET', `${path}/revisions/1`)).body).toMatchObject({
      name: 'as sent',
      content: typed('x'),
    });
    expect((await ada.call('GET', `${path}/revisions/9`)).body['code']).toBe('revision_not_found');
    const { content: _, ...wanted } = saving(2, '');
    const restored = await ada.call('POST', `${path}/revisions/1/restore`, wanted);
    expect(restored.body).toMatchObject({ verdict: 'saved', version: 3 });
    expect((await ada.call('GET', path)).body['content']).toEqual(typed('x'));
  });

  it('are shared with somebody, and not with the owner', async () => {
    const { ada, document } = await api();
    const path = `/v1/documents/${await document()}/grants`;
    const put = await ada.call('PUT', `${path}/auth0%7Ckim%2F1`, { access: 'reader' });
    expect(put.body['grants']).toEqual([
      { grantee: 'auth0|kim/1', access: 'reader' },
      { grantee: 'bob', access: 'editor' },
    ]);
    const own = await ada.call('PUT', `${path}/ada`, { access: 'reader' });
    expect(own).toMatchObject({ status: 422, body: { code: 'own_document' } });
    const removed = await ada.call('DELETE', `${path}/auth0%7Ckim%2F1`);
    expect(removed.body['grants']).toEqual([{ grantee: 'bob', access: 'editor' }]);
  });
});

describe('what is wrong with a save', () => {
  const save = async (change: (body: ReturnType<typeof saving>) => unknown, headers = {}) => {
    const { ada, document } = await api();
    const path = `/v1/documents/${await document()}`;
    const answer = await ada.call('PUT', path, change(saving(1, 'A')), headers);
    const { code, errors } = answer.body as {
      code: string;
      errors?: readonly { code: string; pointer: string }[];
    };
    return [answer.status, code, errors?.[0]?.code, errors?.[0]?.pointer];
  };
  const raw = (content: string) => (body: object) =>
    JSON.stringify(body).replace(/"content":.*/, `"content":${content}}`);
  const without = (name: string) => (body: object) => ({ ...body, [name]: undefined });

  it.each<[string, (body: ReturnType<typeof saving>) => unknown, readonly unknown[]]>([
    ['no expectation', without('expectedVersion'), [428, 'expectation_required']],
    ['no content', without('content'), [422, 'invalid_request', 'missing', '/content']],
    ['no save id', without('saveId'), [422, 'invalid_request', 'missing', '/saveId']],
    [
      'a version that is a text',
      (body) => ({ ...body, expectedVersion: '1' }),
      [422, 'invalid_request', 'wrong_type', '/expectedVersion'],
    ],
    [
      'NUL in a text',
      raw('{"attributes":{"a":"\\u0000"}}'),
      [422, 'invalid_content', 'nul', '/content/attributes/a'],
    ],
    [
      'half an emoji',
      raw('{"attributes":{"a":"\\ud83d"}}'),
      [422, 'invalid_content', 'lone_surrogate', '/content/attributes/a'],
    ],
    [
      'a member twice',
      raw('{"attributes":{"a":1,"a":2}}'),
      [422, 'invalid_request', 'duplicate_key', '/content/attributes/a'],
    ],
    [
      'an integer that loses digits',
      raw('{"attributes":{"a":12345678901234567890}}'),
      [422, 'invalid_request', 'loses_digits', '/content/attributes/a'],
    ],
    [
      'a number that is none',
      raw('{"attributes":{"a":1e400}}'),
      [422, 'invalid_content', 'not_a_number', '/content/attributes/a'],
    ],
    ['NaN', raw('{"attributes":{"a":NaN}}'), [400, 'malformed_json']],
    [
      'a content that is too deep',
      raw(`{"attributes":{"a":${'['.repeat(80)}${']'.repeat(80)}}}`),
      [422, 'invalid_content', 'too_deep'],
    ],
    [
      'one that would exhaust the stack',
      raw(`${'['.repeat(50_000)}${']'.repeat(50_000)}`),
      [422, 'invalid_request', 'too_deep', '/content'],
    ],
    [
      'another kind of content',
      raw('{"cells":{}}'),
      [422, 'invalid_content', 'wrong_shape', '/content/cells'],
    ],
    [
      'itself among those before it',
      (body) => ({ ...body, after: [body.saveId] }),
      [422, 'invalid_content', 'after_itself', '/after'],
    ],
    [
      'too many before it',
      (body) => ({ ...body, after: Array.from({ length: 101 }, () => randomUUID()) }),
      [422, 'invalid_request', 'invalid', '/after'],
    ],
  ])('is named: %s', async (_, change, expected) => {
    const found = await save(change);
    expect(found.slice(0, expected.length)).toEqual(expected);
  });

  it.each(['*', '7', '"x"', '"0"', '"1", "2"'])('is named: If-Match: %s', async (tag) => {
    const found = await save(without('expectedVersion'), { 'if-match': tag });
    expect(found).toEqual([400, 'invalid_headers', 'bad_version', '/if-match']);
  });

  it('is named: two expectations that contradict each other', async () => {
    expect(await save((body) => body, { 'if-match': '"2"' })).toEqual([
      ...[422, 'invalid_content', 'contradiction', '/expectedVersion'],
    ]);
  });

  it('is named: more bytes than are taken', async () => {
    const { ada, document } = await api();
    const path = `/v1/documents/${await document()}`;
    const answer = await ada.call('PUT', path, saving(1, 'x'.repeat(largestBody)));
    expect(answer).toMatchObject({
      status: 413,
      body: { code: 'body_too_large', limit: largestBody },
    });
  });
});

describe('a stream of versions', () => {
  it('tells of each version with its save, and of a deletion', async () => {
    const { bob, ada, document, follow } = await api();
    const [one, two] = [await document(), await document()];
    const { next, response, gone } = await follow(`id=${one}&id=${two}`);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const first = [await next(), await next()].map((each) => each?.data);
    expect(first).toMatchObject([{ version: 1 }, { version: 1 }]);
    const save = saving(1, 'A');
    await bob.call('PUT', `/v1/documents/${two}`, save);
    expect(await next()).toMatchObject({
      event: 'version',
      data: { id: two, version: 2, saveId: save.saveId, writer: save.writer, by: 'bob' },
    });
    await ada.call('DELETE', `/v1/documents/${one}`);
    expect(await next()).toMatchObject({ event: 'deleted', data: { id: one, by: 'ada' } });
    await ada.call('POST', `/v1/documents/${one}/restore`);
    expect(await next()).toMatchObject({ event: 'version', data: { id: one, version: 1 } });
    gone.abort();
  });

  it('says which document is missing, and goes on with the others', async () => {
    const { document, follow } = await api();
    const [id, stranger] = [await document(), randomUUID()];
    const { next } = await follow(`id=${stranger}&id=${id}`);
    const got = [await next(), await next()];
    expect(got).toMatchObject([
      { event: 'missing', data: { id: stranger } },
      { event: 'version', data: { id } },
    ]);
  });

  it('ends when the service stops', async () => {
    const { document, follow, stopping } = await api();
    const { next } = await follow(`id=${await document()}`);
    await next();
    stopping.abort();
    expect(await next()).toBe(undefined);
  });
});
