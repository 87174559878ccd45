// What a page sees of a session: one immutable value, the same one until something changes. A union
// by status, so that a page that forgets the conflict does not get at its data, and one that
// handles it does.

import type { Conflict, Foreign, Problem, Why } from '../machines/session-events.ts';
import { isStale, isUnsaved } from '../machines/session-facts.ts';
import { type MachineSnapshot, type Safety, type Status, safetyOf, statusOf } from './status.ts';

/** A draft that another page left behind, of this user and this document. */
export interface Sibling {
  readonly key: string;
  readonly writer: string;
  readonly at: number;
  /** UTF-16 code units of its JSON. */
  readonly size: number;
  readonly base: number;
  /** How often it was written. */
  readonly counter: number;
  /** Made from another version than the one that is shown. */
  readonly stale: boolean;
  /** Its page is open: it can be looked at only. */
  readonly alive: boolean;
  readonly content: unknown;
}

interface Common {
  readonly content: unknown;
  /** Names the content; goes up with every change of it. */
  readonly generation: number;
  /** The version that the content was made from; 0 before the first read. */
  readonly version: number;
  readonly name: string;
  readonly access: 'owner' | 'editor' | 'reader';
  readonly unsaved: boolean;
  /** `page`: the work is in this page alone. */
  readonly safe: Safety;
  /** Why there is no draft where there ought to be one: full, blocked or not-json. */
  readonly draftTrouble: string | null;
  /** A newer version by somebody else, which was not taken over. */
  readonly foreign: Foreign | null;
  readonly siblings: readonly Sibling[];
  /** What an undo would bring back: what the last choice replaced. */
  readonly undo: Why | null;
}

type Obstacle = 'signed-out' | 'read-only' | 'gone' | 'blocked';

export type SessionSnapshot =
  | (Common & { readonly status: 'conflict'; readonly conflict: Conflict })
  | (Common & { readonly status: Obstacle; readonly problem: Problem | null })
  | (Common & { readonly status: Exclude<Status, Obstacle | 'conflict'> });

export function snapshotOf(
  machine: MachineSnapshot,
  siblings: readonly Omit<Sibling, 'stale'>[],
): SessionSnapshot {
  const { context } = machine;
  const status = statusOf(machine);
  const common: Common = {
    content: context.content,
    generation: context.generation,
    version: context.base.version,
    name: context.document?.name ?? '',
    access: context.document?.access ?? 'owner',
    unsaved: isUnsaved(context),
    safe: safetyOf(machine),
    draftTrouble: context.draftTrouble,
    foreign: isStale(context) ? context.foreign : null,
    // Nobody's drafts are shown while it is not known who is there.
    siblings: (status === 'signed-out' ? [] : siblings).map((sibling) => ({
      ...sibling,
      stale: sibling.base !== context.base.version,
    })),
    undo: context.shelf[0]?.why ?? null,
  };
  switch (status) {
    case 'conflict':
      return { ...common, status, conflict: context.conflict as Conflict };
    case 'blocked':
      return { ...common, status, problem: context.refused?.problem ?? null };
    case 'signed-out':
    case 'read-only':
    case 'gone':
      return { ...common, status, problem: context.problem };
    default:
      return { ...common, status };
  }
}
