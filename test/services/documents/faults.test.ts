// Faults that editors and sync engines had in public, as far as a server can have them or prevent
// them. Each is named by what is true here.

import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openDocumentApi, saving } from '../../support/document-api.ts';
import { typed } from '../../support/documents.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();

async function start() {
  const opened = await openDocumentApi(database());
  const id = await opened.document('x');
  return { ...opened, id, path: `/v1/documents/${id}` };
}

describe('an outcome that nobody heard', () => {
  it('is no conflict with oneself: the same request again is the same success', async () => {
    const { ada, path } = await start();
    const save = saving(1, 'A');
    const first = await ada.call('PUT', path, save);
    const again = await ada.call('PUT', path, save);
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ ...first.body, verdict: 'replayed' });
    const { body } = await ada.call('GET', `${path}/revisions`);
    expect(body['items']).toHaveLength(2);
  });

  it('is one version though both copies arrive at once', async () => {
    const { ada, path } = await start();
    const save = saving(1, 'A');
    const answers = await Promise.all([ada.call('PUT', path, save), ada.call('PUT', path, save)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.map(({ body }) => body['version'])).toEqual([2, 2]);
  });

  it('leads forward when a colleague saved on top: no conflict, and their version', async () => {
    const { ada, bob, path } = await start();
    const lost = saving(1, 'A');
    await ada.call('PUT', path, lost);
    const theirs = await bob.call('PUT', path, saving(2, 'AB'));
    expect(await ada.call('PUT', path, lost)).toMatchObject({
      status: 200,
      body: { verdict: 'superseded', version: 2, currentVersion: 3, hash: theirs.body['hash'] },
    });
  });

  it('is a conflict with the base that was mine when I went on from it', async () => {
    const { ada, bob, path } = await start();
    await ada.call('PUT', path, saving(1, 'A'));
    await bob.call('PUT', path, saving(2, 'AB'));
    expect(await ada.call('PUT', path, saving(2, 'AC'))).toMatchObject({
      status: 409,
      body: { conflict: { version: 3, by: 'bob', baseKnown: true } },
    });
    expect((await ada.call('GET', `${path}/revisions/2`)).body['content']).toEqual(typed('A'));
  });

  it('is announced with its save id, by which its writer knows it as its own', async () => {
    const { ada, id, path, follow } = await start();
    const { next } = await follow(`id=${id}`);
    await next();
    const save = saving(1, 'A');
    await ada.call('PUT', path, save);
    expect((await next())?.data).toMatchObject({ saveId: save.saveId, writer: save.writer });
  });

  it('of a closing tab lands behind the save that is on its way, in both orders', async () => {
    const { ada, document } = await start();
    for (const isLate of [false, true]) {
      const path = `/v1/documents/${await document('x')}`;
      const writer = randomUUID();
      const first = saving(1, 'A', { writer });
      const flush = saving(1, 'AB', { writer, after: [first.saveId] });
      for (const each of isLate ? [flush, first] : [first, flush]) {
        expect((await ada.call('PUT', path, each)).status).toBe(200);
      }
      expect((await ada.call('GET', path)).body['content']).toEqual(typed('AB'));
    }
  });
});

describe('what changes beside the content', () => {
  it('makes no open editor collide: a rename leaves the version', async () => {
    const { ada, bob, path } = await start();
    await bob.call('PUT', `${path}/name`, { name: 'renamed meanwhile' });
    expect((await ada.call('PUT', path, saving(1, 'A'))).body['verdict']).toBe('saved');
  });

  it('is said to be nothing where the number went on and the content is the same', async () => {
    const { ada, bob, path } = await start();
    await bob.call('PUT', path, saving(1, 'x'));
    expect((await ada.call('PUT', path, saving(1, 'A'))).body).toMatchObject({
      conflict: { version: 2, contentUnchanged: true },
    });
  });

  it('is nothing that the server normalises: what was sent is what is read', async () => {
    const { ada, path } = await start();
    const content = typed('  trimmed by nobody \r\n\u0301 ﬁ ');
    const saved = await ada.call('PUT', path, saving(1, '', { content }));
    const read = await ada.call('GET', path);
    expect(read.body['content']).toEqual(content);
    expect(read.body['hash']).toBe(saved.body['hash']);
  });
});

describe('a save without a true expectation', () => {
  it('is never accepted', async () => {
    const { ada, path } = await start();
    const { expectedVersion: _, ...blind } = saving(1, 'A');
    expect((await ada.call('PUT', path, blind)).status).toBe(428);
    expect((await ada.call('PUT', path, blind, { 'if-match': '*' })).status).toBe(400);
    expect((await ada.call('GET', path)).body['version']).toBe(1);
  });

  it('conflicts every second time where two take turns, and overwrites nothing', async () => {
    const { ada, bob, path } = await start();
    for (const version of [1, 2, 3]) {
      expect((await ada.call('PUT', path, saving(version, `a${version}`))).status).toBe(200);
      expect((await bob.call('PUT', path, saving(version, `b${version}`))).status).toBe(409);
    }
    expect((await ada.call('GET', path)).body['content']).toEqual(typed('a3'));
  });
});

describe('what lies between client and server', () => {
  it('may drop or weaken the tag: the version is in the body', async () => {
    const { ada, path } = await start();
    const saved = await ada.call('PUT', path, saving(1, 'A'));
    expect(saved.body['currentVersion']).toBe(2);
    const { expectedVersion: _, ...tagged } = saving(2, 'AB');
    expect((await ada.call('PUT', path, tagged, { 'if-match': 'W/"2"' })).status).toBe(200);
    const { expectedVersion: __, ...stale } = saving(2, 'AC');
    expect(await ada.call('PUT', path, stale, { 'if-match': '"2"' })).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed', conflict: { version: 3 } },
    });
  });

  it('may compress a body, whose limit is that of what it unpacks to', async () => {
    const { ada, api, path } = await start();
    const send = async (text: string) => {
      const response = await fetch(api.url + path, {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${ada.token}`,
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        },
        body: gzipSync(JSON.stringify(saving(1, text))),
      });
      return [response.status, ((await response.json()) as { code?: string }).code];
    };
    expect(await send('x'.repeat(3_000_000))).toEqual([413, 'body_too_large']);
    expect(await send('small')).toEqual([200, undefined]);
  });

  it('answers with a problem in JSON, and no page, whoever asks', async () => {
    const { api, path } = await start();
    const answer = await api.call('PUT', path, { token: null, body: saving(1, 'A') });
    expect([answer.status, answer.body['code']]).toEqual([401, 'unauthenticated']);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });
});

describe('a body that is not UTF-8', () => {
  it.each([
    [
      'another charset',
      'application/json; charset=utf-16',
      'utf16le',
      415,
      'unsupported_media_type',
    ],
    ['bytes that are no characters', 'application/json', 'latin1', 400, 'malformed_json'],
  ] as const)('is refused, never changed: %s', async (_, type, encoding, status, code) => {
    const { api, ada, document } = await openDocumentApi(database());
    const id = await document('café');
    const answer = await fetch(`${api.url}/v1/documents/${id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${ada.token}`, 'content-type': type },
      body: Buffer.from(JSON.stringify(saving(1, 'naïve')), encoding),
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code });
    expect((await ada.call('GET', `/v1/documents/${id}`)).body).toMatchObject({ version: 1 });
  });
});

describe('large and odd contents', () => {
  it('are taken at 150 kB and at 1.9 MB', async () => {
    const { ada, path } = await start();
    expect((await ada.call('PUT', path, saving(1, 'x'.repeat(150_000)))).status).toBe(200);
    expect((await ada.call('PUT', path, saving(2, 'y'.repeat(1_900_000)))).status).toBe(200);
    expect((await ada.call('GET', path)).body['content']).toEqual(typed('y'.repeat(1_900_000)));
  });

  it('get the same answer each time, so that it is worth asking once', async () => {
    const { ada, path } = await start();
    const wrong = saving(1, 'a\u0000');
    const first = await ada.call('PUT', path, wrong);
    const again = await ada.call('PUT', path, wrong);
    expect([first.status, again.status]).toEqual([422, 422]);
    expect(again.body['errors']).toEqual(first.body['errors']);
    const mended = { ...wrong, content: typed('a') };
    expect((await ada.call('PUT', path, mended)).body['verdict']).toBe('saved');
  });

  it('name the cell of a spreadsheet that cannot be kept', async () => {
    const { ada } = await start();
    const content = { cells: { A1: 1, B7: 'a\ud83d' } };
    const sheet = { kind: 'spreadsheet', name: 'sheet', content };
    expect(await ada.call('POST', '/v1/documents', sheet)).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'lone_surrogate', pointer: '/content/cells/B7' }] },
    });
  });

  it('may name attributes after what every object of JavaScript has', async () => {
    const { ada, path } = await start();
    const content = JSON.parse('{"attributes":{"__proto__":1,"constructor":2,"toString":3}}');
    await ada.call('PUT', path, saving(1, '', { content }));
    const read = (await ada.call('GET', path)).body['content'] as { attributes: object };
    expect(Object.keys(read.attributes)).toEqual(['__proto__', 'constructor', 'toString']);
  });
});

describe('a deleted document', () => {
  it('is not brought back by an open editor, and its content is kept', async () => {
    const { ada, bob, path } = await start();
    await ada.call('PUT', path, saving(1, 'A'));
    await ada.call('DELETE', path);
    expect(await bob.call('PUT', path, saving(2, 'AB'))).toMatchObject({
      status: 410,
      body: { code: 'document_gone', deletedBy: 'ada' },
    });
    await ada.call('POST', `${path}/restore`);
    expect((await bob.call('GET', path)).body).toMatchObject({ version: 2, content: typed('A') });
    expect((await bob.call('PUT', path, saving(2, 'AB'))).status).toBe(200);
  });
});
