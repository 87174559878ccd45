// Drafts that other pages of this user left behind for this document: after a crash, a reload or in
// a tab beside. They are offered, never applied, and never overwritten.
//
// - One whose content is the stored one has its receipt, and goes without a question.
// - Adopting and discarding take the lock of the slot and read it again under it.

import { equal, type Json } from '../kinds/json.ts';
import type { Base } from '../machines/session-events.ts';
import type { Draft, DraftPlace } from './draft-record.ts';
import type { DraftStore } from './draft-store.ts';
import type { Sibling } from './session-snapshot.ts';
import type { WriterLocks } from './writer-lock.ts';

export interface SiblingsOptions {
  readonly place: DraftPlace;
  /** The slot of the session itself. */
  readonly own: string;
  readonly drafts: DraftStore;
  readonly locks: WriterLocks;
}

export interface Siblings {
  /** Finds what is offered, given what is stored. */
  find(stored: Base): Promise<readonly Omit<Sibling, 'stale'>[]>;
  /**
   * Runs with the draft as it is now, and removes the slot if `run` says so. It does not run where
   * its page is open or the draft is gone.
   */
  take(key: string, run: (draft: Draft) => Promise<'remove' | 'keep'>): Promise<void>;
}

export function findSiblings({ place, own, drafts, locks }: SiblingsOptions): Siblings {
  return {
    async find(stored) {
      const living = await locks.living();
      const found = await drafts.list(place);
      return found.flatMap(([key, draft]) => {
        if (key === own) return [];
        const alive = living.has(key);
        // Made from a newer version than this page has seen, it may go back to what is here.
        const isOld = draft.base <= stored.version;
        if (!alive && isOld && equal(draft.content as Json, stored.content as Json)) {
          drafts.remove(key);
          return [];
        }
        const { kind, user, document, ...offered } = draft;
        return [{ ...offered, key, alive }];
      });
    },
    take: (key, run) =>
      locks.withSlot(key, async () => {
        const draft = await drafts.read(key);
        if (draft && (await run(draft)) === 'remove') drafts.remove(key);
      }),
  };
}
