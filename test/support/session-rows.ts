// What seldom happens to a session, one story each: two answers where one was waited for, a choice
// that waits, a copy. With those of session-page-rows.ts and the tour they take every arrow of the
// machine.

import { type Fault, gate, settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, documentId, type Stage } from './sessions.ts';

const [a, b, c] = [attributes({ a: 1 }), attributes({ a: 2 }), attributes({ a: 3 })];

export type Row = readonly [name: string, play: (at: Stage) => Promise<unknown>];

const refused: Fault = { type: 'reply', status: 422, body: { code: 'no', detail: 'no' } };

/** A save of somebody who may edit is kept back, and beside it a flush; each as it is told. */
async function twoOut(at: Stage, ...faults: readonly Fault[]) {
  at.wire.grant(documentId, 'eve', 'editor');
  at.browser.signIn('eve');
  const opened = await at.open(at.browser.openPage(), 'eve');
  at.server.script('PUT', ...faults);
  opened.session.edit(a);
  await at.advance(debounceMs);
  opened.session.edit(b);
  opened.page.hide();
  await settle();
  return opened;
}

/** Something is on the shelf and a save is out, answered as it is told. */
async function choosingWhile(at: Stage, fault: Fault) {
  const opened = await at.open();
  opened.session.edit(a);
  await opened.session.discardAndReload();
  at.server.script('PUT', fault);
  opened.session.edit(b);
  await at.advance(debounceMs);
  return opened;
}

async function block(at: Stage) {
  const opened = await at.open();
  at.server.script('PUT', refused);
  opened.session.edit(a);
  await at.advance(debounceMs);
  return opened;
}

export const sessionRows: readonly Row[] = [
  [
    'a conflict is told to a session that may only read',
    async (at) => {
      const [first, second] = [gate(), gate()];
      const hold = (until: Promise<void>): Fault => ({ type: 'delay', until });
      await twoOut(at, hold(first.until), hold(second.until));
      at.wire.grant(documentId, 'eve', 'reader');
      first.open();
      await settle();
      at.wire.grant(documentId, 'eve', 'editor');
      at.wire.saveAs(documentId, 'bob', c);
      second.open();
    },
  ],
  [
    'a refusal is told to a session that may only read',
    async (at) => {
      const { until, open } = gate();
      const denied: Fault = { type: 'reply', status: 403, body: { code: 'read_only' } };
      await twoOut(at, { ...denied, until }, { ...refused, until });
      open();
    },
  ],
  [
    'a save that counted is told to a session that may only read',
    async (at) => {
      const { until, open } = gate();
      const second = gate();
      const denied: Fault = { type: 'reply', status: 403, body: { code: 'read_only' } };
      await twoOut(at, { ...denied, until }, { type: 'delay', until: second.until });
      open();
      await settle();
      second.open();
    },
  ],
  [
    'a save that was abandoned, of which nobody heard, is answered',
    async (at) => {
      const { until, open } = gate();
      const { session } = await choosingWhile(at, { type: 'delay', until });
      at.server.script('POST', { type: 'drop' });
      await session.discardAndReload();
      open();
    },
  ],
  [
    'a choice is made while a save is unconfirmed',
    async (at) => {
      const { session } = await choosingWhile(at, { type: 'kill' });
      session.undo();
    },
  ],
  [
    'a flush is asked for while a save is unconfirmed',
    async (at) => {
      const { session } = await choosingWhile(at, { type: 'kill' });
      session.flush();
    },
  ],
  [
    'a conflict is kept as a copy',
    async (at) => {
      const { session } = await at.open();
      session.edit(a);
      at.wire.saveAs(documentId, 'bob', c);
      await at.advance(debounceMs);
      await session.keepAsCopy('mine');
    },
  ],
  [
    'a conflict comes while the draft is behind',
    async (at) => {
      const { until, open } = gate();
      const { session } = await at.open();
      at.server.script('PUT', { type: 'delay', until });
      session.edit(a);
      await at.advance(debounceMs);
      at.wire.saveAs(documentId, 'bob', c);
      session.edit(b);
      open();
    },
  ],
  [
    'nobody is signed in, and then the same user is',
    async (at) => {
      const { until, open } = gate();
      const [nobody, trouble] = [401, 500].map(
        (status): Fault => ({ type: 'reply', status, until }),
      ) as [Fault, Fault];
      const { session } = await twoOut(at, nobody, trouble);
      open();
      await settle();
      session.edit(c);
      session.signedIn('eve');
    },
  ],
  [
    'nobody is signed in when a document is opened',
    async (at) => {
      at.browser.signIn(null);
      const { session } = await at.open();
      at.browser.signIn('ada');
      session.signedIn('ada');
    },
  ],
  [
    'typing goes on without a network',
    async (at) => {
      const { session } = await at.open();
      at.browser.goOffline();
      session.edit(a);
      await at.advance(debounceMs);
      session.edit(b);
    },
  ],
  [
    'an unconfirmed save is sent again in time, and when its page is hidden and shown',
    async (at) => {
      const { session, page } = await choosingWhile(at, { type: 'kill' });
      at.server.always((method) => (method === 'PUT' ? { type: 'kill' } : undefined));
      await at.advance(1000);
      session.edit(c);
      page.hide();
      await settle();
      page.show();
    },
  ],
  [
    'typing goes on in a conflict',
    async (at) => {
      const { session } = await at.open();
      session.edit(a);
      at.wire.saveAs(documentId, 'bob', c);
      await at.advance(debounceMs);
      session.edit(b);
    },
  ],
  [
    'a save is overtaken by the flush behind it, and its answer comes after all',
    async (at) => {
      const { until, open } = gate();
      await twoOut(at, { type: 'delay', until });
      open();
    },
  ],
  [
    'typing does not pause for five seconds',
    async (at) => {
      const { session } = await at.open();
      for (let i = 0; i < 8; i += 1) {
        session.edit(attributes({ a: i + 10 }));
        await at.advance(700);
      }
    },
  ],
  [
    'an unconfirmed save is asked for when its page wakes',
    async (at) => {
      const { session, page } = await at.open();
      at.server.script('PUT', { type: 'kill' });
      session.edit(a);
      await at.advance(debounceMs);
      page.leave();
      page.comeBack();
    },
  ],
  [
    'an unconfirmed save is announced',
    async (at) => {
      const { session } = await at.open();
      const late = gate();
      at.server.script('PUT', { type: 'delay', until: late.until });
      session.edit(a);
      await at.advance(debounceMs + 30_000);
      late.open();
    },
  ],
  [
    'a choice waits for a save that is refused',
    async (at) => {
      const { until, open } = gate();
      const { session } = await choosingWhile(at, { ...refused, until });
      session.undo();
      open();
    },
  ],
  [
    'a choice waits for a save that is lost, and is sent again',
    async (at) => {
      const { until, open } = gate();
      const { session } = await choosingWhile(at, { type: 'reply', status: 500, until });
      session.undo();
      open();
      await at.advance(60_000);
    },
  ],
  [
    'a choice waits for a save that was abandoned, of which nobody heard',
    async (at) => {
      const { until, open } = gate();
      const { session } = await choosingWhile(at, { type: 'delay', until });
      at.server.script('POST', { type: 'drop' });
      await session.discardAndReload();
      session.undo();
      open();
    },
  ],
  [
    'a deleted document is kept as a copy',
    async (at) => {
      const { session } = await at.open();
      await at.advance(1000);
      session.edit(a);
      at.wire.remove(documentId, 'bob');
      await settle();
      await session.keepAsCopy('mine');
    },
  ],
  [
    'a refused content is kept as a copy',
    async (at) => {
      const { session } = await block(at);
      await session.keepAsCopy('mine');
    },
  ],
  [
    'a refused content is undone',
    async (at) => {
      const { session } = await choosingWhile(at, refused);
      await at.advance(debounceMs);
      session.undo();
    },
  ],
];
