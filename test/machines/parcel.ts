// An XState machine that is not persisted and has one of everything that a sketch must read: nested
// and parallel states, delays, invoked work, what stays in its state, and arrows of the whole.

import { and, assign, fromPromise, not, setup } from 'xstate';

export const parcel = setup({
  types: { context: {} as { readonly tries: number } },
  actors: { weigh: fromPromise(async () => 5) },
  guards: { isFragile: () => true, hasTriesLeft: ({ context }) => context.tries < 3 },
  actions: { count: assign({ tries: ({ context }) => context.tries + 1 }), ring: () => undefined },
  delays: { patience: 90_000 },
}).createMachine({
  id: 'parcel',
  description: 'A parcel on its way through a house.',
  context: { tries: 0 },
  initial: 'packing',
  on: { lose: '.lost', ask: { actions: 'ring' } },
  states: {
    packing: {
      description: 'Somebody looks for a box.',
      invoke: {
        src: 'weigh',
        onDone: { target: 'travelling', guard: not('isFragile') },
        onError: 'lost',
      },
      entry: 'count',
      always: { guard: and(['isFragile', 'hasTriesLeft']), target: 'wrapping' },
      on: { shake: [{ guard: 'isFragile', actions: 'ring' }, { actions: 'count' }] },
    },
    wrapping: { after: { 2000: 'packing', patience: 'lost' } },
    travelling: {
      type: 'parallel',
      onDone: 'arrived',
      states: {
        van: {
          initial: 'loaded',
          states: { loaded: { on: { unload: 'empty' } }, empty: { type: 'final' } },
        },
        papers: {
          initial: 'open',
          states: { open: { on: { sign: 'signed' } }, signed: { type: 'final' } },
        },
      },
    },
    arrived: { type: 'final' },
    lost: { type: 'final' },
  },
});
