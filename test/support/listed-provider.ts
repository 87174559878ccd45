// A provider that lists some branches and does nothing else, for tests of routes: there are no
// workers, and what is asked for stays queued.

import type { Branch, Provider } from '../../services/operations/provider.ts';

const branch = (name: string, parent: string | null): Branch => ({
  ...{ name, parent, state: 'ready', hasChildren: parent === null },
  fixed: parent === null ? 'root' : null,
});

const unasked = async (): Promise<never> => {
  throw new Error('nobody carries anything out here');
};

/** A root `main` with the branches `dev` and `leaf`. */
export const listedProvider: Provider = {
  name: 'listed',
  timeoutMs: 5000,
  nameFault: (name) => (name.length > 60 ? 'a name has at most 60 characters' : undefined),
  list: async () => ({
    result: 'ok',
    value: [branch('main', null), branch('dev', 'main'), branch('leaf', 'main')],
  }),
  mark: unasked,
  issue: unasked,
  since: unasked,
  poll: unasked,
  close: async () => undefined,
};
