// The lane of a document session: where the work is on its way to the server. session-regions.ts
// says what holds of it.

import type { State } from './session-states.ts';

const begin = ['beginSave', 'put'] as const;
const beginFlush = ['beginFlush', 'put'] as const;
const retry = ['retrySave', 'put'] as const;
const read = ['countRead', 'read'] as const;
const discardEnds = (ended: 'reloaded' | 'edited' | 'failed') =>
  ({ type: 'endDiscard', params: ended }) as const;

/** Every answer to a save is noted; then it is gone on by this edge, or stayed. */
const answersBy = <E extends object>(edge: E) =>
  ({
    'save.stored': { ...edge, actions: 'noteStored' },
    'save.overtaken': { ...edge, actions: 'noteOvertaken' },
    'save.conflicted': { ...edge, actions: 'noteConflict' },
    'save.refused': { ...edge, actions: 'noteRefusal' },
    'save.unclear': { ...edge, actions: 'noteUnclear' },
  }) as const;

const save = { guard: 'isOnline', target: '#saving', actions: begin } as const;
const choosing = {
  choose: { target: '#dirty', actions: 'choose' },
  discard: { target: '#discarding' },
} as const;
const choosingLater = {
  choose: { target: '#settling', actions: 'chooseLater' },
  discard: { target: '#discarding' },
} as const;
const editing = { edit: { actions: 'edit' } } as const;
/** What is on the screen was stored as another document. */
const copying = { 'copy.stored': { actions: 'noteCopy' } } as const;

/** Substates of a state that follows what others save for as long as nothing is unsaved. */
const following = {
  initial: 'current',
  states: {
    current: {
      description: 'Shows the newest version that it knows of.',
      always: { guard: { and: ['isBehindOthers', { not: 'isUnsaved' }] }, target: 'catchingUp' },
      on: {
        show: 'catchingUp',
        wake: 'catchingUp',
        'stream.opened': 'catchingUp',
        'document.missed': 'catchingUp',
      },
    },
    catchingUp: {
      description: 'Reads the stored version, and takes it over unless the page holds.',
      entry: read,
      on: {
        'document.read': [
          {
            guard: { and: ['isNewerRead', { not: 'isUnsaved' }] },
            target: '#answered',
            actions: 'takeOver',
          },
          { guard: 'isLatestRead', target: '#answered', actions: 'noteRead' },
        ],
        'read.failed': { guard: 'isLatestFailure', target: 'behind', actions: 'countFailure' },
      },
    },
    behind: {
      description: 'The read failed and is tried again.',
      after: { retry: { guard: 'isOnline', target: 'catchingUp' } },
      on: { online: 'catchingUp', show: 'catchingUp', wake: 'catchingUp' },
    },
  },
} as const;

const dirty = {
  id: 'dirty',
  tags: 'dirty',
  description:
    'Edits wait for a pause in the typing, for 5 s at most; without a network, until it is back.',
  initial: 'pending',
  on: choosing,
  states: {
    pending: {
      initial: 'typing',
      after: { latest: save },
      on: { flush: save, hide: save, close: save, sleep: 'asleep', wake: 'checking' },
      states: {
        typing: {
          after: { debounce: [save, { target: 'waiting' }] },
          on: { edit: { target: 'typing', reenter: true, actions: 'edit' } },
        },
        waiting: {
          description:
            'There is no network. The edits are in the draft, and leave as soon as it is back.',
          on: { ...editing, online: { target: '#saving', actions: begin } },
        },
      },
    },
    asleep: {
      description: 'The page is frozen or in the back-forward cache. No timer is armed.',
      on: { ...editing, wake: 'checking', show: 'checking' },
    },
    checking: {
      description: 'The page came back: what is stored is read before anything is saved.',
      entry: read,
      on: {
        ...editing,
        sleep: 'asleep',
        'document.read': [
          { guard: 'isForeignRead', target: '#conflict', actions: 'conflictByRead' },
          { guard: 'isLatestRead', target: 'pending' },
        ],
        'read.failed': { guard: 'isLatestFailure', target: 'unchecked', actions: 'countFailure' },
      },
    },
    unchecked: {
      description: 'The read failed and is tried again.',
      after: { retry: { guard: 'isOnline', target: 'checking' } },
      on: { ...editing, sleep: 'asleep', online: 'checking', show: 'checking' },
    },
  },
} as const satisfies State;

const discarding = {
  id: 'discarding',
  tags: 'settling',
  description: 'Abandons unanswered saves, then shows the stored version. An edit ends it.',
  initial: 'abandoning',
  entry: 'beginDiscard',
  on: {
    edit: { target: '#answered', actions: ['edit', discardEnds('edited')] },
    cancel: { target: '#answered', actions: discardEnds('edited') },
    'abandon.failed': { target: '#answered', actions: discardEnds('failed') },
    'read.failed': {
      guard: 'isLatestFailure',
      target: '#answered',
      actions: discardEnds('failed'),
    },
  },
  states: {
    abandoning: {
      entry: 'abandon',
      on: { 'saves.abandoned': { target: 'reading', actions: 'noteAbandoned' } },
    },
    reading: {
      entry: read,
      on: {
        'document.read': {
          guard: 'isLatestRead',
          target: '#answered',
          actions: ['shelve', 'takeOver', discardEnds('reloaded')],
        },
      },
    },
  },
} as const satisfies State;

export const lane = {
  description: 'Where the work is on its way to the server.',
  initial: 'loading',
  on: {
    ...answersBy({}),
    hold: { actions: 'hold' },
    release: { actions: 'release' },
    'version.announced': { actions: 'noteForeign' },
    'document.read': { guard: 'isForeignRead', actions: 'noteRead' },
    'signed.out': { target: '#signedOut', actions: 'signOut' },
    'access.lost': { target: '#readOnly', actions: 'loseAccess' },
    'document.gone': { target: '#gone', actions: 'loseDocument' },
  },
  states: {
    loading: {
      tags: 'loading',
      description: 'Nothing is shown yet. An edit is refused here, and only here.',
      initial: 'reading',
      states: {
        reading: {
          entry: read,
          on: {
            'document.read': { guard: 'isLatestRead', target: '#answered', actions: 'takeOver' },
            'read.failed': { guard: 'isLatestFailure', target: 'waiting', actions: 'countFailure' },
          },
        },
        waiting: {
          description: 'The read failed and is tried again.',
          after: { retry: { guard: 'isOnline', target: 'reading' } },
          on: { online: 'reading', show: 'reading', wake: 'reading' },
        },
      },
    },
    clean: {
      tags: 'saved',
      description: 'What is on the screen is stored on the server.',
      on: { edit: { target: 'dirty', actions: 'edit' }, ...choosing },
      ...following,
    },
    dirty,
    saving: {
      id: 'saving',
      tags: 'saving',
      description: 'A save is on its way. Edits go on; its answer speaks for what was sent only.',
      on: {
        ...editing,
        // And weighed what is left to do.
        ...answersBy({ target: '#answered' }),
        ...choosingLater,
        hide: { guard: 'canFlush', actions: beginFlush },
      },
    },
    unconfirmed: {
      tags: 'unconfirmed',
      description:
        'The network or the server died before it answered: neither saved nor failed. ' +
        'The same save is sent again until there is an answer.',
      after: { retry: { guard: 'isOnline', target: 'saving', actions: retry } },
      on: {
        ...editing,
        ...choosingLater,
        online: { target: 'saving', actions: retry },
        show: { guard: 'isOnline', target: 'saving', actions: retry },
        wake: { guard: 'isOnline', target: 'saving', actions: retry },
        flush: { guard: 'isOnline', target: 'saving', actions: retry },
        'save.announced': { target: 'saving', actions: retry },
        hide: { guard: { and: ['canFlush', 'isOnline'] }, target: 'saving', actions: beginFlush },
      },
    },
    answered: {
      id: 'answered',
      description: 'Something was heard of the server, and the first of these holds.',
      always: [
        { guard: 'isAnswerOut', target: 'saving' },
        { guard: 'isUnclear', target: 'unconfirmed' },
        { guard: 'isConflicted', target: 'conflict' },
        { guard: 'isReader', target: 'readOnly' },
        { guard: 'isRefused', target: 'blocked' },
        { guard: 'isUnsaved', target: 'dirty' },
        { target: 'clean' },
      ],
    },
    settling: {
      id: 'settling',
      tags: 'settling',
      description: 'A choice was made and waits until nothing is unanswered. An edit ends it.',
      always: { guard: 'isSettled', target: 'dirty', actions: 'applyChoice' },
      after: {
        retry: {
          guard: { and: ['isUnclear', { not: 'isAnswerOut' }] },
          target: 'settling',
          reenter: true,
          actions: retry,
        },
      },
      on: {
        // Each answer starts the wait for the next try anew.
        ...answersBy({ target: 'settling', reenter: true } as const),
        choose: { actions: 'chooseLater' },
        edit: { target: 'answered', actions: ['edit', 'dropChoice'] },
        cancel: { target: 'answered', actions: 'dropChoice' },
      },
    },
    discarding,
    conflict: {
      id: 'conflict',
      tags: 'conflict',
      description: 'Somebody else saved first. Edits go into the draft until the user chooses.',
      on: { ...editing, ...choosing, ...copying },
    },
    signedOut: {
      id: 'signedOut',
      tags: 'signed-out',
      description: 'Nobody is signed in. Everything is kept, and goes on for the same user only.',
      on: {
        ...editing,
        'signed.in': [{ guard: 'isLoaded', target: 'answered' }, { target: 'loading' }],
      },
    },
    readOnly: {
      id: 'readOnly',
      tags: 'read-only',
      description: 'The document may be read. What was edited stays in the draft.',
      on: { ...editing, ...choosingLater, ...copying },
      ...following,
    },
    gone: {
      id: 'gone',
      tags: 'gone',
      description: 'The document was deleted. The content is kept, to be stored as a new one.',
      on: { ...editing, ...copying },
    },
    blocked: {
      tags: 'blocked',
      description: 'The server refuses this content. It is sent again only when it was edited.',
      on: { edit: { target: 'dirty', actions: 'edit' }, ...choosing, ...copying },
    },
  },
} as const satisfies State;
