// Known bugs of document sessions, each as a part of the session that is exchanged. The history
// checker must notice every one of them.

import { saveEvent } from '../../client/receipts.ts';
import type { Parts } from '../../client/session.ts';
import { begun, type EventOf, type Facts, stored } from '../../machines/session-facts.ts';
import { changes } from '../../machines/session-setup.ts';

export interface SessionMutant {
  readonly name: string;
  readonly parts: Partial<Parts>;
}

const onStored =
  (how: (facts: Facts, own: Partial<Facts>) => Partial<Facts>) =>
  (facts: Facts, event: EventOf<'save.stored'>): Partial<Facts> => {
    const isMine = facts.unanswered.some(({ number }) => number === event.save);
    const own = stored(facts, event);
    return isMine ? how(facts, own) : own;
  };

/** Changes the save that is begun. */
const onBegun =
  (how: 'save' | 'flush', to: (facts: Facts) => object) =>
  (facts: Facts): Partial<Facts> => {
    const own = begun(facts, how);
    const last = own.unanswered?.at(-1);
    const others = own.unanswered?.slice(0, -1) ?? [];
    return last ? { ...own, unanswered: [...others, { ...last, ...to(facts) }] } : own;
  };

const withoutAfter = () => ({ after: [] });

export const sessionMutants: readonly SessionMutant[] = [
  {
    name: 'a success clears a newer edit',
    parts: {
      changes: {
        ...changes,
        noteStored: onStored((facts, own) => ({ ...own, savedGeneration: facts.generation })),
      },
    },
  },
  {
    name: 'the expected version is that of the latest read',
    parts: {
      changes: {
        ...changes,
        beginSave: onBegun('save', ({ base, foreign }) => ({
          base: Math.max(base.version, foreign?.version ?? 0),
        })),
      },
    },
  },
  {
    name: 'the draft is removed before the receipt',
    parts: {
      effects: (own) => ({
        ...own,
        put(save) {
          own.removeDraft();
          own.put(save);
        },
      }),
    },
  },
  {
    name: 'the receipt of another writer is accepted',
    parts: {
      readSave(answer, sent) {
        const body =
          answer.type === 'answered' ? (answer.body as { saveId?: string } | null) : null;
        return saveEvent(answer, { ...sent, saveId: body?.saveId ?? sent.saveId });
      },
    },
  },
  {
    name: 'a flush does not say what it comes after',
    parts: {
      changes: {
        ...changes,
        beginFlush: onBegun('flush', withoutAfter),
      },
    },
  },
  {
    name: 'an answer applies to whatever is in the editor',
    parts: {
      changes: {
        ...changes,
        noteStored: onStored((facts, own) =>
          own.base ? { ...own, base: { ...own.base, content: facts.content } } : own,
        ),
      },
    },
  },
  {
    name: 'a page that was reloaded has the writer, and so the slot, that it had before',
    parts: { mintWriter: () => 'page-0-id-0' },
  },
  {
    name: 'a discard abandons nothing',
    parts: {
      effects: (own, send) => ({
        ...own,
        abandon: () => send({ type: 'saves.abandoned', committed: [] }),
      }),
    },
  },
];
