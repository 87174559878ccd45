// What a document session knows, as data, and how each event changes it. The machine in
// document-session.ts decides where a session is; these functions say what is true there. Pure: no
// clock, no dice, no I/O.
//
// - `generation` names what is on the screen; every edit and every choice raises it. A receipt
//   speaks for the generation that was sent, never for what is on the screen when it arrives.
// - `base` is the version that the content was made from. Only receipts of its own lineage, and
//   choices, move it; a version that was merely heard of never does.
// - A save keeps its number, content, base and predecessors over all retries.
// - A stored save settles its predecessors: the server recorded them as overtaken with it.

import type {
  Base,
  Conflict,
  Discarded,
  Foreign,
  Problem,
  ReadDocument,
  Save,
  SessionEvent,
  Shelved,
} from './session-events.ts';

export interface Facts {
  readonly content: unknown;
  readonly generation: number;
  readonly savedGeneration: number;
  readonly base: Base;
  readonly lineage: number;
  /** The base with which the lineage began. */
  readonly lineageStart: number;
  readonly unanswered: readonly Save[];
  readonly saves: number;
  /** How many reads were asked for; an answer counts only if it is the last one's. */
  readonly reads: number;
  /** The newest version that somebody else made and we heard of. */
  readonly foreign: Foreign | null;
  readonly held: boolean;
  readonly conflict: Conflict | null;
  readonly refused: { readonly generation: number; readonly problem: Problem } | null;
  readonly problem: Problem | null;
  /** Failures in a row, for the backoff; and the wait that the server asked for. */
  readonly failures: number;
  readonly waitMs: number;
  /** A choice that waits until nothing is unanswered. */
  readonly choice: EventOf<'choose'> | null;
  readonly discarded: Discarded | null;
  readonly draft: { readonly generation: number; readonly base: number } | null;
  readonly draftTrouble: string | null;
  readonly shelf: readonly Shelved[];
  readonly document: ReadDocument | null;
}

export type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;
type Change = Partial<Facts>;

export const nothingKnown: Facts = {
  content: null,
  generation: 0,
  savedGeneration: 0,
  base: { version: 0, content: null },
  lineage: 0,
  lineageStart: 0,
  unanswered: [],
  saves: 0,
  reads: 0,
  foreign: null,
  held: false,
  conflict: null,
  refused: null,
  problem: null,
  failures: 0,
  waitMs: 0,
  choice: null,
  discarded: null,
  draft: null,
  draftTrouble: null,
  shelf: [],
  document: null,
};

export const isUnsaved = (facts: Facts): boolean => facts.generation > facts.savedGeneration;

/** What is on the screen is in the draft, on the base that it has here. */
export const isDrafted = ({ draft, generation, base }: Facts): boolean =>
  draft !== null && draft.generation === generation && draft.base === base.version;

/** A version by somebody else that the content on the screen does not have. */
export const isStale = ({ foreign, base }: Facts): boolean =>
  foreign !== null && foreign.version > base.version;

/** Content that no save under way carries, and room for the one flush beside a save. */
export const canFlush = (facts: Facts): boolean => {
  const newest = facts.unanswered.at(-1);
  return (
    isUnsaved(facts) &&
    !facts.unanswered.some(({ flush }) => flush) &&
    (newest === undefined || newest.generation < facts.generation)
  );
};

export const isNewerRead = (facts: Facts, { sequence, document }: EventOf<'document.read'>) =>
  sequence === facts.reads && document.version > facts.base.version;

export function edited(facts: Facts, { content }: EventOf<'edit'>): Change {
  return { content, generation: facts.generation + 1, refused: null };
}

/** Begins a save of what is on the screen, behind those of its lineage that are unanswered. */
export function begun(facts: Facts, how: 'save' | 'flush'): Change {
  const save: Save = {
    number: facts.saves + 1,
    generation: facts.generation,
    lineage: facts.lineage,
    content: facts.content,
    base: facts.base.version,
    after: facts.unanswered.map(({ number }) => number),
    flush: how === 'flush',
    phase: 'sent',
  };
  return { saves: save.number, unanswered: [...facts.unanswered, save], refused: null };
}

/** Sends the newest unclear save again: where it is stored, its predecessors are settled too. */
export function retried({ unanswered }: Facts): Change {
  const last = unanswered.findLast(({ phase }) => phase === 'unclear');
  return {
    unanswered: unanswered.map((save) => (save === last ? { ...save, phase: 'sent' } : save)),
  };
}

export function stored(facts: Facts, event: EventOf<'save.stored'>): Change {
  const save = facts.unanswered.find(({ number }) => number === event.save);
  if (!save) return {};
  const unanswered = facts.unanswered.filter(
    ({ number }) => number !== save.number && !save.after.includes(number),
  );
  const answered = { unanswered, failures: 0, waitMs: 0 };
  if (save.lineage !== facts.lineage) return answered;
  const moves = event.version > facts.base.version;
  const overtakenBy = event.current > event.version && unanswered.length === 0;
  return {
    ...answered,
    base: moves ? { version: event.version, content: save.content } : facts.base,
    savedGeneration: Math.max(facts.savedGeneration, save.generation),
    foreign: overtakenBy ? { version: event.current, by: null, at: null } : facts.foreign,
  };
}

/** A save that produced no version, and never will. */
const without = (facts: Facts, number: number): Change => ({
  unanswered: facts.unanswered.filter((save) => save.number !== number),
  failures: 0,
  waitMs: 0,
});

export const overtaken = (facts: Facts, { save }: EventOf<'save.overtaken'>): Change =>
  without(facts, save);

/** Of a save that was abandoned the conflict is nobody's any more. */
export function conflicted(facts: Facts, { save, conflict }: EventOf<'save.conflicted'>): Change {
  const isOurs = facts.unanswered.some(({ number }) => number === save);
  return isOurs ? { ...without(facts, save), conflict } : {};
}

export function refused(facts: Facts, { save, problem }: EventOf<'save.refused'>): Change {
  const sent = facts.unanswered.find(({ number }) => number === save);
  if (!sent) return {};
  return { ...without(facts, save), refused: { generation: sent.generation, problem } };
}

export function unclear(facts: Facts, { save, waitMs }: EventOf<'save.unclear'>): Change {
  return {
    unanswered: facts.unanswered.map((each) =>
      each.number === save ? { ...each, phase: 'unclear' } : each,
    ),
    failures: facts.failures + 1,
    waitMs,
  };
}

/** Nobody was signed in: the save was not taken, and is sent again by who is. */
export const signedOut = (facts: Facts, { save, problem }: EventOf<'signed.out'>): Change => ({
  unanswered: facts.unanswered.map((each) =>
    each.number === save ? { ...each, phase: 'unclear' } : each,
  ),
  choice: null,
  problem,
});

export function heardOf(facts: Facts, foreign: Foreign): Change {
  const known = facts.foreign !== null && facts.foreign.version >= foreign.version;
  return known ? {} : { foreign };
}

/** A read that may not be taken over tells of a version all the same, or that there is none. */
export function heardByRead(facts: Facts, { document }: EventOf<'document.read'>): Change {
  const { version, updatedBy, updatedAt } = document;
  if (version <= facts.base.version) return { foreign: null, failures: 0, document };
  return { ...heardOf(facts, { version, by: updatedBy, at: updatedAt }), failures: 0, document };
}

export const onlyReading = (facts: Facts, { save, problem }: EventOf<'access.lost'>): Change => ({
  ...(save !== null && without(facts, save)),
  document: facts.document && { ...facts.document, access: 'reader' },
  choice: null,
  problem,
});

/** The stored document as the content, under a lineage of its own, with nothing unsaved. */
export function takenOver(facts: Facts, { document }: EventOf<'document.read'>): Change {
  const generation = facts.generation + 1;
  return {
    document,
    content: document.content,
    generation,
    savedGeneration: generation,
    base: { version: document.version, content: document.content },
    lineage: facts.lineage + 1,
    lineageStart: document.version,
    foreign: null,
    conflict: null,
    refused: null,
    failures: 0,
    waitMs: 0,
  };
}

/** A read that found a newer version under unsaved work: what a save would be told. */
export function conflictOf({ version, updatedAt, updatedBy }: ReadDocument): Conflict {
  return {
    version,
    at: updatedAt,
    by: updatedBy,
    writer: null,
    saveId: null,
    baseKnown: true,
    contentUnchanged: false,
    plan: null,
  };
}

const shelfLength = 5;

/** Puts what a choice replaces on the shelf. */
export function shelved(facts: Facts, why: Shelved['why']): readonly Shelved[] {
  const stored = !isUnsaved(facts);
  const item = { why, content: facts.content, base: facts.base, stored };
  return [item, ...facts.shelf].slice(0, shelfLength);
}

/** The choice as the content, under a lineage of its own that begins at the choice's base. */
export function chosen(facts: Facts, choice: EventOf<'choose'>): Change {
  const generation = facts.generation + 1;
  const shelf = choice.why === 'undo' ? facts.shelf.slice(1) : facts.shelf;
  const isStored = choice.stored && choice.base.version === facts.base.version;
  // Over our own saves an undo goes on from where we are, also over those that it waited for.
  const isOurs = choice.why === 'undo' && facts.shelf[0]?.base.version === facts.lineageStart;
  const base = isOurs ? facts.base : choice.base;
  return {
    content: choice.content,
    generation,
    savedGeneration: isStored ? generation : facts.savedGeneration,
    base,
    lineage: facts.lineage + 1,
    lineageStart: base.version,
    conflict: null,
    refused: null,
    choice: null,
    shelf: shelved({ ...facts, shelf }, choice.why),
  };
}

/** Abandoned saves are settled; one that had committed moves the base, and is named. */
export function abandoned(facts: Facts, { committed }: EventOf<'saves.abandoned'>): Change {
  const known = committed.flatMap(({ save, version }) => {
    const found = facts.unanswered.find(({ number }) => number === save);
    return found ? [{ ...found, version }] : [];
  });
  const last = known.toSorted((a, b) => a.version - b.version).at(-1);
  const versions = known.map(({ version }) => version);
  const discarded: Discarded = { ended: 'failed', committed: versions };
  if (!last || last.version <= facts.base.version) return { unanswered: [], discarded };
  return {
    unanswered: [],
    discarded,
    base: { version: last.version, content: last.content },
    savedGeneration: Math.max(facts.savedGeneration, last.generation),
  };
}
