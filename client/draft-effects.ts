// The draft of one session: written when the machine says so, gone when the machine says so.
//
// - `writeDraft` is answered in the same tick where the slot took it.
// - A content from which JSON would lose something is written all the same, and said not to be
//   safe.

import type { SessionEvent } from '../machines/session-events.ts';
import type { Facts } from '../machines/session-facts.ts';
import type { Effects } from '../machines/session-setup.ts';
import { type DraftPlace, slotKey } from './draft-record.ts';
import { type DraftStore, type DraftTrouble, draftText, type Written } from './draft-store.ts';
import type { Clock } from './environment.ts';
import { losslessCheck } from './lossless.ts';

export interface DraftEffectsOptions {
  readonly place: DraftPlace;
  readonly writer: string;
  readonly drafts: DraftStore;
  readonly clock: Clock;
  readonly facts: () => Facts;
  readonly send: (event: SessionEvent) => void;
}

export function draftEffects(
  options: DraftEffectsOptions,
): Pick<Effects, 'writeDraft' | 'removeDraft'> {
  const { place, writer, drafts, clock, send } = options;
  const key = slotKey(place, writer);
  const isLossless = losslessCheck();
  let counter = 0;
  return {
    writeDraft() {
      const { content, generation, base } = options.facts();
      counter += 1;
      const head = { ...place, writer, base: base.version, counter, at: clock.now() };
      const text = draftText(head, content);
      const fail = (because: DraftTrouble) => send({ type: 'draft.failed', because });
      if (text === null) return fail('not-json');
      const answer = (written: Written) => {
        if (!written.written) fail(written.because);
        else if (!isLossless(content)) fail('not-json');
        else send({ type: 'draft.written', generation, base: base.version });
      };
      const written = drafts.write(key, text);
      if (written instanceof Promise) written.then(answer);
      else answer(written);
    },
    removeDraft: () => drafts.remove(key),
  };
}
