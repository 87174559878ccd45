// What every route does with what is wrong about a request, before its handler sees it.

import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Answered } from '../../../services/http/answered.ts';
import { many } from '../../../services/http/input.ts';
import { problem, problemKind } from '../../../services/http/problem.ts';
import { type Route, route } from '../../../services/http/route.ts';
import { openApi, tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const teapot = problemKind('teapot', 418, 'This is a teapot', { brand: z.string() });

const echo = z.strictObject({
  params: z.strictObject({ name: z.string() }),
  query: z.strictObject({ limit: z.int().optional(), id: z.array(z.string()).optional() }),
  version: z.string().optional(),
  body: z.json(),
  sub: z.string(),
  requestId: z.string(),
});

const routes: readonly Route[] = [
  route({
    method: 'put',
    path: '/v1/echo/{name}',
    scope: 'metrics:read',
    summary: 'Say what was sent',
    params: z.strictObject({ name: z.string().max(5) }),
    query: z.strictObject({
      limit: z.coerce.number().int().min(1).optional(),
      id: many(z.string().min(1)).optional(),
    }),
    headers: z.object({ 'if-match': z.string().max(3).optional() }),
    body: z.strictObject({ value: z.json() }),
    mostBytes: 2000,
    answers: { 200: echo },
  }).handle(async ({ params, query, headers, body, principal, requestId }) => ({
    status: 200,
    body: {
      params,
      query,
      version: headers['if-match'],
      body: body.value,
      sub: principal.sub,
      requestId,
    },
    headers: { 'X-Extra': 'yes' },
  })),
  route({
    method: 'post',
    path: '/v1/tea',
    scope: 'metrics:read',
    summary: 'Refuse',
    answers: { 204: z.undefined() },
    problems: [teapot],
  }).handle(async () => problem(teapot, 'No coffee.', { members: { brand: 'Fence' } })),
  route({
    method: 'get',
    path: '/v1/tea',
    scope: 'metrics:read',
    summary: 'Break',
    answers: { 200: z.string() },
  }).handle(async () => {
    throw new Error('secret of the inside');
  }),
];

const api = () => openApi({ database: database(), routes });
const value = (json: string) => `{"value":${json}}`;
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const json = { 'content-type': 'application/json' };

describe('a route', () => {
  it('is given what its schemas read, and answers what it declares', async () => {
    const { call } = await api();
    const { status, body, headers } = await call('PUT', '/v1/echo/a?limit=3&id=x&id=y', {
      body: value('[1]'),
      headers: { 'x-request-id': 'r-1', 'if-match': '"7"' },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      params: { name: 'a' },
      query: { limit: 3, id: ['x', 'y'] },
      version: '"7"',
      body: [1],
      sub: 'tester',
      requestId: 'r-1',
    });
    expect(headers.get('x-request-id')).toBe('r-1');
    expect(headers.get('x-extra')).toBe('yes');
    expect(headers.get('cache-control')).toBe('no-store');
    const one = await call('PUT', '/v1/echo/a?id=x', { body: value('1') });
    expect(one.body['query']).toEqual({ id: ['x'] });
  });

  it('gets a request id that it can be asked by, and replaces one that is none', async () => {
    const { call } = await api();
    const headers = { 'x-request-id': 'a b\u00e4'.slice(0, 3) };
    const { body, headers: got } = await call('GET', '/v1/nowhere', { headers });
    expect(got.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(body['requestId']).toBe(got.get('x-request-id'));
  });

  it.each<[string, string, string, object, number, string, unknown]>([
    [
      'a path parameter',
      'PUT',
      '/v1/echo/toolong',
      { body: value('1') },
      400,
      'invalid_path',
      '/name',
    ],
    [
      'a query parameter',
      'PUT',
      '/v1/echo/a?limit=x',
      { body: value('1') },
      400,
      'invalid_query',
      '/limit',
    ],
    [
      'one that comes twice',
      'PUT',
      '/v1/echo/a?limit=1&limit=2',
      { body: value('1') },
      400,
      'invalid_query',
      '/limit',
    ],
    [
      'one of a list',
      'PUT',
      '/v1/echo/a?id=x&id=',
      { body: value('1') },
      400,
      'invalid_query',
      '/id/1',
    ],
    [
      'an unknown one',
      'PUT',
      '/v1/echo/a?a~/b=1',
      { body: value('1') },
      400,
      'invalid_query',
      '/a~0~1b',
    ],
    ['any on a route without', 'GET', '/v1/tea?x=1', {}, 400, 'invalid_query', '/x'],
    [
      'a header field',
      'PUT',
      '/v1/echo/a',
      { body: value('1'), headers: { 'if-match': 'long' } },
      400,
      'invalid_headers',
      '/if-match',
    ],
    [
      'a member too many',
      'PUT',
      '/v1/echo/a',
      { body: '{"value":1,"b":2}' },
      422,
      'invalid_request',
      '/b',
    ],
    [
      'a body too deep',
      'PUT',
      '/v1/echo/a',
      { body: value(nested(200)) },
      422,
      'invalid_request',
      '/value',
    ],
  ])('names %s', async (_, method, path, sent, status, code, pointer) => {
    const { call } = await api();
    const refused = await call(method, path, sent);
    expect([refused.status, refused.body['code']]).toEqual([status, code]);
    expect(refused.body['errors']).toMatchObject([{ pointer }]);
  });

  it.each<[string, string, string, object, number, string]>([
    ['malformed JSON', 'PUT', '/v1/echo/a', { body: '{"value":' }, 400, 'malformed_json'],
    [
      'another type',
      'PUT',
      '/v1/echo/a',
      { body: 'a', headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    [
      'another charset',
      'PUT',
      '/v1/echo/a',
      { body: '{}', headers: { 'content-type': 'application/json; charset=koi8-r' } },
      415,
      'unsupported_media_type',
    ],
    [
      'another encoding',
      'PUT',
      '/v1/echo/a',
      { body: '{}', headers: { ...json, 'content-encoding': 'x' } },
      415,
      'unsupported_media_type',
    ],
    ['no body', 'PUT', '/v1/echo/a', {}, 415, 'unsupported_media_type'],
    [
      'a body that is too large',
      'PUT',
      '/v1/echo/a',
      { body: value(`"${'x'.repeat(2000)}"`) },
      413,
      'body_too_large',
    ],
    ['a body where none belongs', 'POST', '/v1/tea', { body: {} }, 400, 'unexpected_body'],
    ['an unknown path', 'GET', '/v1/nowhere', {}, 404, 'not_found'],
    ['another case of a path', 'GET', '/V1/tea', {}, 404, 'not_found'],
    ['another method', 'DELETE', '/v1/tea', {}, 405, 'method_not_allowed'],
    ['options', 'OPTIONS', '/v1/tea', {}, 405, 'method_not_allowed'],
    ['NUL in a path', 'PUT', '/v1/echo/a%00', { body: value('1') }, 400, 'malformed_request'],
    ['NUL in a query', 'PUT', '/v1/echo/a?id=%00', { body: value('1') }, 400, 'malformed_request'],
    ['half an escape', 'PUT', '/v1/echo/%zz', { body: value('1') }, 400, 'malformed_request'],
    ['no token', 'GET', '/v1/tea', { token: null }, 401, 'unauthenticated'],
    [
      'nobody, with a wrong body',
      'PUT',
      '/v1/echo/a',
      { token: null, body: '{' },
      401,
      'unauthenticated',
    ],
  ])('refuses %s', async (_, method, path, sent, status, code) => {
    const { call } = await api();
    const refused = await call(method, path, sent);
    expect([refused.status, refused.body['code']]).toEqual([status, code]);
  });

  it('says where else a path can be asked, and how large a body may be', async () => {
    const { call } = await api();
    expect((await call('PUT', '/v1/tea')).headers.get('allow')).toBe('GET, POST');
    const large = await call('PUT', '/v1/echo/a', { body: value(`"${'x'.repeat(2000)}"`) });
    expect(large.body['limit']).toBe(2000);
  });

  it('answers a problem of its own with its members', async () => {
    const { call } = await api();
    const { status, body } = await call('POST', '/v1/tea');
    expect(status).toBe(418);
    expect(body).toMatchObject({
      type: 'urn:fencepost:problem:teapot',
      detail: 'No coffee.',
      brand: 'Fence',
    });
  });

  it('says nothing of what broke inside', async () => {
    const { call } = await api();
    const { status, body } = await call('GET', '/v1/tea');
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('says the reason to a stranger in WWW-Authenticate, and not in the body', async () => {
    const { call } = await api();
    const token = await tokenOf('ada', [], -60);
    const { headers, body } = await call('GET', '/v1/tea', { token });
    expect(headers.get('www-authenticate')).toBe(
      'Bearer realm="fencepost", error="invalid_token", error_description="expired"',
    );
    expect(JSON.stringify(body)).not.toContain('expired');
    const poor = await call('GET', '/v1/tea', { token: await tokenOf('ada', []) });
    expect(poor.headers.get('www-authenticate')).toBe(
      'Bearer realm="fencepost", error="insufficient_scope", scope="metrics:read"',
    );
  });
});

describe('the signal of a handler', () => {
  it('is aborted for who asks for it when the client is gone already', async () => {
    const events = new EventEmitter();
    const late = route({
      method: 'get',
      path: '/v1/late',
      scope: 'public',
      summary: 'Wait until the client is gone',
      answers: { 204: z.undefined() },
    }).handle(async (context) => {
      events.emit('asked');
      await once(events, 'answered');
      events.emit('seen', context.signal.aborted);
      return { status: 204, body: undefined };
    });
    const answered = () => events.emit('answered');
    const { url } = await openApi({ database: database(), routes: [late], answered });
    const [asked, seen] = [once(events, 'asked'), once(events, 'seen')];
    const gone = new AbortController();
    const request = fetch(`${url}/v1/late`, { signal: gone.signal });
    await asked;
    gone.abort();
    await expect(request).rejects.toThrow('aborted');
    expect(await seen).toEqual([true]);
  });
});

describe('a body', () => {
  const body = value('["\u00e4"]');
  const inPieces = () =>
    new ReadableStream({
      start(controller) {
        for (const byte of Buffer.from(body)) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });

  it.each<[string, BodyInit, string, Readonly<Record<string, string>>]>([
    ['of a known length', body, 'application/json', {}],
    ['that says its character set', body, 'Application/JSON; charset=UTF-8', {}],
    ['that says it in quotes', body, 'application/json;charset="utf-8"', {}],
    ['that begins with a byte order mark', `\ufeff${body}`, 'application/json', {}],
    ['whose end is not known', inPieces(), 'application/json', {}],
    ['that is compressed', gzipSync(body), 'application/json', { 'content-encoding': 'gzip' }],
  ])('is read: one %s', async (_, sent, type, headers) => {
    const { url } = await api();
    const answer = await fetch(`${url}/v1/echo/a`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${await tokenOf('ada')}`,
        'content-type': type,
        ...headers,
      },
      body: sent,
      duplex: 'half',
    } as RequestInit);
    expect(await answer.json()).toMatchObject({ body: ['\u00e4'], sub: 'ada' });
  });

  it.each([
    ['is no UTF-8', Buffer.from('{"value":"\xff"}', 'latin1'), 'malformed_json'],
    ['ends in the middle', '{"value":', 'malformed_json'],
    ['is empty', '', 'invalid_request'],
  ])('is refused where it %s', async (_, sent, code) => {
    const { url } = await api();
    const authorization = `Bearer ${await tokenOf('ada')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1/echo/a`, { method: 'PUT', headers, body: sent });
    expect(await answer.json()).toMatchObject({ code });
  });

  it('that stops coming in the middle is no request', async () => {
    const heard = new EventEmitter();
    const answered = (answer: Answered) => heard.emit('answered', answer);
    const { url } = await openApi({ database: database(), routes, answered });
    const over = once(heard, 'answered');
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const token = await tokenOf('ada');
    const head = ['PUT /v1/echo/a HTTP/1.1', 'host: x', `authorization: Bearer ${token}`];
    const sent = [
      ...head,
      'content-type: application/json',
      'content-length: 100',
      '',
      '{"value":',
    ];
    socket.write(sent.join('\r\n'), () => socket.destroy());
    expect(await over).toMatchObject([{ route: '/v1/echo/{name}', status: 499 }]);
  });
});

describe('what is no HTTP', () => {
  it('is cut off, and the service goes on', async () => {
    const { call, url } = await api();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.end('nonsense\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 400 /);
    expect((await call('GET', '/healthz')).status).toBe(200);
  });
});
