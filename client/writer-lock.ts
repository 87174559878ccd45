// A Web Lock named after a draft's slot says that its writer lives. Who adopts or discards a draft
// takes the lock for as long as that takes.
//
// - Looking is by `query()`: a request for the lock of a page in the back-forward cache would evict
//   that page.
// - Without Web Locks nobody is known to live, and every draft is offered: adopting copies it, and
//   nothing is removed that is not kept elsewhere.

import type { Locks } from './environment.ts';

export interface WriterLocks {
  /** Says that the writer of this slot lives, until the returned function is called. */
  live(slot: string): () => void;
  living(): Promise<ReadonlySet<string | undefined>>;
  /** Runs with the lock of a slot, and not at all where its writer lives. */
  withSlot(slot: string, run: () => Promise<void>): Promise<void>;
}

export function writerLocks(locks: Locks | null): WriterLocks {
  return {
    live(slot) {
      let end = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      // Refused where the document is not fully active; then nobody knows that this writer lives.
      locks?.request(slot, {}, () => ended).catch(() => {});
      return end;
    },
    async living() {
      const known = await locks?.query().catch(() => undefined);
      return new Set(known?.held?.map(({ name }) => name));
    },
    async withSlot(slot, run) {
      if (!locks) return run();
      await locks.request(slot, { ifAvailable: true }, async (lock) => {
        if (lock) await run();
      });
    },
  };
}
