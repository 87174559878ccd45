// The parts that the document session's regions are made of: guards, changes, effects and delays,
// by name.
//
// - A change is a function of session-facts.ts. An effect does nothing here: client/ provides it,
//   and it is told what `told` says.
// - Delays are in milliseconds. client/ provides `retry` with dice.

import type { Save, SessionEvent } from './session-events.ts';
import * as facts from './session-facts.ts';

type Facts = facts.Facts;
type EventOf<T extends SessionEvent['type']> = facts.EventOf<T>;

export const delaysMs = {
  debounce: 800,
  latest: 5000,
  draft: 250,
  linger: 1000,
  roomAgain: 30_000,
} as const;

export type DelayName = keyof typeof delaysMs | 'retry';

/** The wait before what failed is tried again, without dice; what the server asked for counts. */
export const retryMs = ({ failures, waitMs }: Facts): number =>
  Math.max(waitMs, Math.min(30_000, 500 * 2 ** Math.min(failures, 10)));

/** What the machine asks for. Each is answered by events, sooner or later. */
export interface Effects {
  readonly put: (save: Save | undefined) => void;
  readonly read: (sequence: number) => void;
  readonly abandon: (saves: readonly Save[]) => void;
  readonly writeDraft: () => void;
  readonly removeDraft: () => void;
}

/** What an effect is told of the facts. */
export const told = {
  put: ({ unanswered }: Facts) => unanswered.findLast(({ phase }) => phase === 'sent'),
  read: ({ reads }: Facts) => reads,
  abandon: ({ unanswered }: Facts) => unanswered,
  writeDraft: () => {},
  removeDraft: () => {},
} satisfies { readonly [E in keyof Effects]: (facts: Facts) => Parameters<Effects[E]>[0] };

/** Where a session is, as far as is asked: a region, and a state in it. */
export interface Place {
  readonly [state: string]: string | Place;
}

export const guards = {
  isOnline: { in: { connection: 'online' } },
  isUnsaved: facts.isUnsaved,
  isDrafted: facts.isDrafted,
  isAnswerOut: ({ unanswered }) => unanswered.some(({ phase }) => phase === 'sent'),
  isUnclear: ({ unanswered }) => unanswered.some(({ phase }) => phase === 'unclear'),
  isSettled: ({ unanswered }) => unanswered.length === 0,
  isConflicted: ({ conflict }) => conflict !== null,
  isRefused: ({ refused, generation }) => refused?.generation === generation,
  isReader: ({ document }) => document?.access === 'reader',
  isLoaded: ({ base }) => base.version > 0,
  isBehindOthers: (context) => facts.isStale(context) && !context.held,
  canFlush: facts.canFlush,
  isLatestRead: ({ reads }, event) => event.type === 'document.read' && event.sequence === reads,
  isLatestFailure: ({ reads }, event) => event.type === 'read.failed' && event.sequence === reads,
  isNewerRead: (context, event) => isForeignRead(context, event) && !context.held,
  isForeignRead,
} satisfies Readonly<
  Record<string, { in: Place } | ((context: Facts, event: SessionEvent) => boolean)>
>;

function isForeignRead(context: Facts, event: SessionEvent): boolean {
  return event.type === 'document.read' && facts.isNewerRead(context, event);
}

export type GuardName = keyof typeof guards;

export const changes = {
  edit: facts.edited,
  beginSave: (context: Facts) => facts.begun(context, 'save'),
  beginFlush: (context: Facts) => facts.begun(context, 'flush'),
  retrySave: facts.retried,
  countRead: ({ reads }: Facts) => ({ reads: reads + 1 }),
  countFailure: ({ failures }: Facts) => ({ failures: failures + 1 }),
  noteStored: facts.stored,
  noteOvertaken: facts.overtaken,
  noteConflict: facts.conflicted,
  noteRefusal: facts.refused,
  noteUnclear: facts.unclear,
  noteForeign: (context: Facts, { foreign }: EventOf<'version.announced'>) =>
    facts.heardOf(context, foreign),
  noteRead: facts.heardByRead,
  signOut: facts.signedOut,
  loseAccess: facts.onlyReading,
  loseDocument: (_: Facts, { problem }: EventOf<'document.gone'>) => ({
    unanswered: [],
    choice: null,
    problem,
  }),
  conflictByRead: (_: Facts, { document }: EventOf<'document.read'>) => ({
    conflict: facts.conflictOf(document),
  }),
  takeOver: facts.takenOver,
  shelve: (context: Facts) => ({ shelf: facts.shelved(context, 'discard') }),
  choose: facts.chosen,
  chooseLater: (_: Facts, choice: EventOf<'choose'>) => ({ choice }),
  applyChoice: (context: Facts) => (context.choice ? facts.chosen(context, context.choice) : {}),
  dropChoice: () => ({ choice: null }),
  noteCopy: ({ savedGeneration }: Facts, { generation }: EventOf<'copy.stored'>) => ({
    savedGeneration: Math.max(savedGeneration, generation),
  }),
  noteAbandoned: facts.abandoned,
  beginDiscard: () => ({ discarded: null }),
  endDiscard: ({ discarded }: Facts, _: unknown, ended: 'reloaded' | 'edited' | 'failed') => ({
    discarded: { committed: discarded?.committed ?? [], ended },
  }),
  hold: () => ({ held: true }),
  release: () => ({ held: false }),
  noteDraft: (_: Facts, { generation, base }: EventOf<'draft.written'>) => ({
    draft: { generation, base },
    draftTrouble: null,
  }),
  noteDraftTrouble: (_: Facts, { because }: EventOf<'draft.failed'>) => ({
    draftTrouble: because,
  }),
  forgetDraft: () => ({ draft: null, draftTrouble: null }),
} satisfies Readonly<
  Record<string, (context: Facts, event: never, params: never) => Partial<Facts>>
>;
