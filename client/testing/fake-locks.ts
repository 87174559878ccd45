// Web Locks and BroadcastChannels of one browser. A page has its own view of both, which ends with
// the page.

import type { Channel, Locks } from '../environment.ts';

interface Waiting {
  readonly name: string;
  readonly page: string;
  readonly grant: () => void;
}

export function fakeLocks() {
  const held = new Map<string, string>();
  let waiting: Waiting[] = [];
  const release = (name: string) => {
    held.delete(name);
    const next = waiting.find((each) => each.name === name);
    if (!next) return;
    waiting = waiting.filter((each) => each !== next);
    next.grant();
  };
  return {
    names: () => [...held.keys()],
    /** The page ended: its locks are free. */
    endPage(page: string) {
      waiting = waiting.filter((each) => each.page !== page);
      for (const [name, owner] of [...held]) if (owner === page) release(name);
    },
    locksOf(page: string): Locks {
      return {
        async request(name, { ifAvailable = false }, run) {
          if (held.has(name) && ifAvailable) {
            await run(null);
            return;
          }
          if (held.has(name)) {
            await new Promise<void>((grant) => {
              waiting.push({ name, page, grant });
            });
          }
          held.set(name, page);
          try {
            await run({ name });
          } finally {
            if (held.get(name) === page) release(name);
          }
        },
        query: async () => ({ held: [...held.keys()].map((name) => ({ name })) }),
      };
    },
  };
}

export function fakeChannels() {
  const open = new Map<string, Set<{ page: string; hear: (message: unknown) => void }>>();
  return {
    endPage(page: string) {
      for (const set of open.values()) {
        for (const each of set) if (each.page === page) set.delete(each);
      }
    },
    channelOf(page: string, name: string): Channel {
      const set = open.get(name) ?? new Set();
      open.set(name, set);
      const me = { page, hear: (_: unknown) => {} };
      set.add(me);
      return {
        postMessage(message) {
          for (const each of [...set]) {
            if (each !== me) Promise.resolve().then(() => set.has(each) && each.hear(message));
          }
        },
        listen: (hear) => {
          me.hear = hear;
        },
        close: () => set.delete(me),
      };
    },
  };
}
