// What seldom happens to the page of a session, one story each: it may only read, it comes back,
// its storage fails.

import { settle } from '../../client/testing/index.ts';
import type { Row } from './session-rows.ts';
import { attributes, documentId, type Stage } from './sessions.ts';

const [a, b] = [attributes({ a: 1 }), attributes({ a: 2 })];

/** Opens as somebody who may only read, and has typed where `edits` is given. */
async function openAsReader(at: Stage, edits?: unknown) {
  at.wire.grant(documentId, 'eve', 'reader');
  at.browser.signIn('eve');
  const opened = await at.open(at.browser.openPage(), 'eve');
  if (edits !== undefined) opened.session.edit(edits);
  return opened;
}

/** A reader's page whose read of a newer version failed. */
async function readerBehind(at: Stage) {
  const opened = await openAsReader(at);
  await at.advance(1000);
  at.server.script('GET', { type: 'kill' });
  opened.page.show();
  await settle();
  return opened;
}

/** Neither storage nor server take what was typed. */
async function withoutStorage(at: Stage) {
  const opened = await at.open();
  at.browser.storage.error = new Error('blocked');
  at.browser.mirror.error = new Error('blocked');
  at.server.always((method) => (method === 'PUT' ? { type: 'kill' } : undefined));
  opened.session.edit(a);
  await at.advance(400);
  return opened;
}

export const sessionPageRows: readonly Row[] = [
  [
    'somebody who edits is told that there is no such document',
    async (at) => {
      at.browser.signIn('bob');
      await at.open(at.browser.openPage(), 'bob');
      await at.advance(1000);
      at.wire.revoke(documentId, 'bob');
    },
  ],
  [
    'a page comes back, cannot read, tries again, and is frozen again',
    async (at) => {
      const { session, page } = await at.open();
      at.browser.goOffline();
      session.edit(a);
      page.leave();
      at.browser.cutNetwork();
      page.comeBack();
      await settle();
      at.browser.goOnline();
      at.server.always((method) => (method === 'GET' ? { type: 'kill' } : undefined));
      page.leave();
      page.comeBack();
      await at.advance(5000);
      session.edit(b);
      page.show();
      await settle();
      page.leave();
    },
  ],
  [
    'a reader keeps what was typed as a copy',
    async (at) => {
      const { session } = await openAsReader(at, a);
      await session.keepAsCopy('mine');
    },
  ],
  [
    'a reader hears that somebody saved',
    async (at) => {
      await openAsReader(at);
      await at.advance(1000);
      at.wire.saveAs(documentId, 'bob', b);
    },
  ],
  [
    'a reader is told that there is no such document',
    async (at) => {
      await openAsReader(at);
      await at.advance(1000);
      at.wire.revoke(documentId, 'eve');
    },
  ],
  [
    'a reader\u2019s page wakes',
    async (at) => {
      const { page } = await openAsReader(at);
      await at.advance(1000);
      page.leave();
      page.comeBack();
    },
  ],
  [
    'a reader\u2019s page tries its read again in time',
    async (at) => {
      await readerBehind(at);
      await at.advance(5000);
    },
  ],
  [
    'a reader\u2019s page tries its read again when it is shown',
    async (at) => {
      const { page } = await readerBehind(at);
      page.show();
    },
  ],
  [
    'a reader\u2019s page tries its read again when it wakes',
    async (at) => {
      const { page } = await readerBehind(at);
      page.leave();
      page.comeBack();
    },
  ],
  [
    'a reader\u2019s page tries its read again when the network is back',
    async (at) => {
      await readerBehind(at);
      at.browser.goOffline();
      at.browser.goOnline();
    },
  ],
  [
    'a page without storage is frozen',
    async (at) => {
      const { page } = await withoutStorage(at);
      page.freeze();
    },
  ],
  [
    'a page without storage goes on, and finds room again',
    async (at) => {
      const { session } = await withoutStorage(at);
      session.edit(b);
      await at.advance(60_000);
    },
  ],
  [
    'a page without storage is closed',
    async (at) => {
      const { session, page } = await withoutStorage(at);
      page.hide();
      await settle();
      session.close();
    },
  ],
  [
    'a page without storage saves',
    async (at) => {
      await withoutStorage(at);
      at.server.always(() => undefined);
      await at.advance(60_000);
    },
  ],
];
