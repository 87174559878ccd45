// The parts that the document session's regions are made of: guards, effects and facts, by name.
//
// - An action is either an effect, which does nothing here and is provided by client/, or an
//   assignment by a function of session-facts.ts.
// - Delays are in milliseconds. client/ provides `retry` with dice.

import { assign, createMachine, type setup, stateIn } from 'xstate';
import type { Save, SessionEvent } from './session-events.ts';
import * as facts from './session-facts.ts';

export const delaysMs = {
  debounce: 800,
  latest: 5000,
  draft: 250,
  linger: 1000,
  roomAgain: 30_000,
} as const;

/** What the machine asks for. Each is answered by events, sooner or later. */
export interface Effects {
  readonly put: (save: Save) => void;
  readonly read: (sequence: number) => void;
  readonly abandon: (saves: readonly Save[]) => void;
  readonly writeDraft: () => void;
  readonly removeDraft: () => void;
}

/** The wait before what failed is tried again, without dice; what the server asked for counts. */
export const retryMs = ({ failures, waitMs }: facts.Facts): number =>
  Math.max(waitMs, Math.min(30_000, 500 * 2 ** Math.min(failures, 10)));

type Change = Partial<facts.Facts>;

/** An assignment of what a function of the facts makes of the event that brings it. */
const note = <E extends SessionEvent>(change: (context: facts.Facts, event: E) => Change) =>
  assign<facts.Facts, SessionEvent, undefined, SessionEvent, never>(({ context, event }) =>
    change(context, event as E),
  );

/**
 * What XState's `setup` does for the types, without its helpers for machines that spawn: they are
 * 0.8 kB gzipped of what every page loads.
 */
const lean = ((parts: object) => ({
  createStateConfig: (config: unknown) => config,
  createMachine: (config: object) => createMachine(config, parts),
})) as unknown as typeof setup;

export const session = lean({
  types: {} as { context: facts.Facts; events: SessionEvent },
  delays: { ...delaysMs, retry: ({ context }) => retryMs(context) },
  guards: {
    isOnline: stateIn({ connection: 'online' }),
    isUnsaved: ({ context }) => facts.isUnsaved(context),
    isDrafted: ({ context }) => facts.isDrafted(context),
    isAnswerOut: ({ context }) => context.unanswered.some(({ phase }) => phase === 'sent'),
    isUnclear: ({ context }) => context.unanswered.some(({ phase }) => phase === 'unclear'),
    isSettled: ({ context }) => context.unanswered.length === 0,
    isConflicted: ({ context }) => context.conflict !== null,
    isRefused: ({ context }) => context.refused?.generation === context.generation,
    isReader: ({ context }) => context.document?.access === 'reader',
    isLoaded: ({ context }) => context.base.version > 0,
    isBehindOthers: ({ context }) => facts.isStale(context) && !context.held,
    canFlush: ({ context }) => facts.canFlush(context),
    isLatestRead: ({ context, event }) =>
      event.type === 'document.read' && event.sequence === context.reads,
    isLatestFailure: ({ context, event }) =>
      event.type === 'read.failed' && event.sequence === context.reads,
    isNewerRead: ({ context, event }) =>
      event.type === 'document.read' && facts.isNewerRead(context, event) && !context.held,
    isForeignRead: ({ context, event }) =>
      event.type === 'document.read' && facts.isNewerRead(context, event),
  },
  actions: {
    // Effects, which client/ provides.
    put: (_, _save: Save | undefined) => {},
    read: (_, _sequence: number) => {},
    abandon: (_, _saves: readonly Save[]) => {},
    writeDraft: () => {},
    removeDraft: () => {},
    // Facts.
    edit: note(facts.edited),
    beginSave: assign(({ context }) => facts.begun(context, 'save')),
    beginFlush: assign(({ context }) => facts.begun(context, 'flush')),
    retrySave: assign(({ context }) => facts.retried(context)),
    countRead: assign(({ context }) => ({ reads: context.reads + 1 })),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    noteStored: note(facts.stored),
    noteOvertaken: note(facts.overtaken),
    noteConflict: note(facts.conflicted),
    noteRefusal: note(facts.refused),
    noteUnclear: note(facts.unclear),
    noteForeign: note((context, { foreign }: facts.EventOf<'version.announced'>) =>
      facts.heardOf(context, foreign),
    ),
    noteRead: note(facts.heardByRead),
    signOut: note(facts.signedOut),
    loseAccess: note(facts.onlyReading),
    loseDocument: note((_, { problem }: facts.EventOf<'document.gone'>) => ({
      unanswered: [],
      choice: null,
      problem,
    })),
    conflictByRead: note((_, { document }: facts.EventOf<'document.read'>) => ({
      conflict: facts.conflictOf(document),
    })),
    takeOver: note(facts.takenOver),
    shelve: assign(({ context }) => ({ shelf: facts.shelved(context, 'discard') })),
    choose: note(facts.chosen),
    chooseLater: note((_, choice: facts.EventOf<'choose'>) => ({ choice })),
    applyChoice: assign(({ context }) =>
      context.choice ? facts.chosen(context, context.choice) : {},
    ),
    dropChoice: assign({ choice: null }),
    noteCopy: note(({ savedGeneration }, { generation }: facts.EventOf<'copy.stored'>) => ({
      savedGeneration: Math.max(savedGeneration, generation),
    })),
    noteAbandoned: note(facts.abandoned),
    beginDiscard: assign({ discarded: null }),
    endDiscard: assign(({ context }, ended: 'reloaded' | 'edited' | 'failed') => ({
      discarded: { committed: context.discarded?.committed ?? [], ended },
    })),
    hold: assign({ held: true }),
    release: assign({ held: false }),
    noteDraft: note((_, { generation, base }: facts.EventOf<'draft.written'>) => ({
      draft: { generation, base },
      draftTrouble: null,
    })),
    noteDraftTrouble: note((_, { because }: facts.EventOf<'draft.failed'>) => ({
      draftTrouble: because,
    })),
    forgetDraft: assign({ draft: null, draftTrouble: null }),
  },
});
