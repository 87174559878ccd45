// The session of one document in one page: from the first read to the end of the last edit. It
// runs in the browser, over the versioned document on the server; client/ drives it.
//
// Four regions. `lane`: where the work is on its way to the server. `connection`: whether the
// network and the stream of events are there. `draft`: the copy in the browser's storage.
// `holding`: whether somebody in the page still holds the session.
//
// - At most one save is unanswered, and beside it one flush, sent because the page was hidden.
// - Work leaves by a receipt or by a choice of the user. No state drops it; in no state but
//   `loading` is an edit refused.
// - Nothing is saved in `conflict`, `signedOut`, `readOnly`, `gone` and `blocked`.
// - A tag of the lane is the status that people see.
//
// Effects are named actions (put, read, abandon, writeDraft, …) which client/ provides, and not
// invoked actors: a save outlives the state that sent it, and its answer is an event like others.

import { lane } from './session-lane.ts';
import type { Guard, State } from './session-states.ts';

const connection = {
  description: 'Whether the network and the stream of versions are there.',
  initial: 'online',
  states: {
    online: {
      description:
        'As far as the browser knows. A dead network shows first in a save: unconfirmed.',
      initial: 'connecting',
      on: { offline: 'offline' },
      states: {
        connecting: {
          description: 'The stream is opened again and again.',
          on: { 'stream.opened': 'live' },
        },
        live: {
          description: 'Versions that others save are heard of at once.',
          on: { 'stream.lost': 'connecting' },
        },
      },
    },
    offline: {
      description:
        'There is no network. Nothing is sent; edits go on, into the draft. “online” sends them.',
      on: { online: 'online' },
    },
  },
} as const satisfies State;

const now = { target: 'writing' } as const;

const draft = {
  description: 'The copy in the storage of the browser.',
  initial: 'none',
  states: {
    none: {
      description: 'All there is to keep is on the server.',
      always: { guard: 'isUnsaved', target: 'behind' },
    },
    behind: {
      description: 'The draft lacks edits of the last moment.',
      always: {
        guard: { not: 'isUnsaved' },
        target: 'none',
        actions: ['removeDraft', 'forgetDraft'],
      },
      after: { draft: now },
      on: { hide: now, sleep: now, close: now, 'save.conflicted': now },
    },
    writing: {
      description: 'The storage is being written.',
      entry: 'writeDraft',
      on: {
        'draft.written': {
          target: 'kept',
          actions: 'noteDraft',
        },
        'draft.failed': {
          target: 'unavailable',
          actions: 'noteDraftTrouble',
        },
      },
    },
    kept: {
      description: 'What is on the screen is in the draft. It goes with the receipt for it.',
      always: [
        { guard: { not: 'isUnsaved' }, target: 'none', actions: ['removeDraft', 'forgetDraft'] },
        { guard: { not: 'isDrafted' }, target: 'behind' },
      ],
    },
    unavailable: {
      description: 'The storage is full or blocked: the work is in this page alone.',
      always: {
        guard: { not: 'isUnsaved' },
        target: 'none',
        actions: ['removeDraft', 'forgetDraft'],
      },
      after: { roomAgain: now },
      on: { edit: 'behind', hide: now, sleep: now, close: now },
    },
  },
} as const satisfies State;

const inLane = (...names: readonly (keyof typeof lane.states)[]): Guard => ({
  or: names.map((name) => ({ in: { lane: name } })),
});
const choosing = inLane('settling', 'discarding');
/** Nothing happens here before a user does something. */
const waiting = inLane('conflict', 'signedOut', 'readOnly', 'gone', 'blocked');

const holding = {
  description: 'Whether somebody in the page holds the session.',
  initial: 'open',
  states: {
    open: { description: 'Somebody does.', on: { close: 'lingering' } },
    lingering: {
      description: 'The last holder let go. Opening again gives this very session.',
      after: { linger: 'ending' },
      on: { reopen: 'open' },
    },
    ending: {
      description: 'Ends when nothing is unanswered and the work is saved or in the draft.',
      always: [
        { guard: { and: ['isSettled', { not: 'isUnsaved' }, { not: choosing }] }, target: 'ended' },
        { guard: { and: ['isSettled', 'isDrafted', waiting] }, target: 'ended' },
      ],
      on: { reopen: 'open' },
    },
    ended: { description: 'Nothing of it is left in the page.' },
  },
} as const satisfies State;

export const sessionRegions = { lane, connection, draft, holding } as const;
