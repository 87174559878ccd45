// The outbox as another version of the service would declare it: what two processes of a rolling
// deploy, one of each, meet in the same database.

import { outbox } from '../../machines/outbox.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { col, eq, lit, lte, set, when } from '../../machines/vocabulary.ts';

const plain: Machine = outbox;

type States = Machine['states'];
type Arrows = NonNullable<States[string]['on']>;

function withArrows(machine: Machine, status: string, arrows: Arrows): Machine {
  const state = machine.states[status] ?? {};
  const on = { ...state.on, ...arrows };
  return { ...machine, states: { ...machine.states, [status]: { ...state, on } } };
}

/** It may also be canceled, which leads to a status that there is. */
export const cancelable: Machine = withArrows(
  { ...plain, events: { ...plain.events, cancel: { by: 'operator' } } },
  'pending',
  { cancel: { target: 'failed' } },
);

/** It may also be parked, which leads to a status of its own. */
export const parkable: Machine = withArrows(
  {
    ...plain,
    events: { ...plain.events, park: { by: 'operator' }, unpark: { by: 'operator' } },
    states: { ...plain.states, parked: { on: { unpark: { target: 'pending' } } } },
  },
  'pending',
  { park: { target: 'parked' } },
);

const without = <V>(record: Readonly<Record<string, V>>, name: string) =>
  Object.fromEntries(Object.entries(record).filter(([each]) => each !== name));
const { processing = {} } = cancelable.states;

/** There is another event by which a worker takes it. */
export const grabbing: Machine = withArrows(
  {
    ...plain,
    events: { ...plain.events, grab: plain.events['claim'] ?? { by: 'claim' } },
  },
  'pending',
  { grab: plain.states['pending']?.on?.['claim'] },
);

/** It may be canceled, and knows no throttling. */
export const diverged: Machine = {
  ...cancelable,
  events: without(cancelable.events, 'throttle'),
  states: {
    ...cancelable.states,
    processing: { ...processing, on: without(processing.on ?? {}, 'throttle') },
  },
};

/** Nothing but its guard on a claim differs: a delivery to nobody is never claimed. */
export const choosy: Machine = withArrows(plain, 'pending', {
  claim: [plain.states['pending']?.on?.['claim'] ?? []].flat().map((arrow) => ({
    ...arrow,
    guard: when({ ...arrow.guard?.params, nobody: { not: eq(col('recipient'), lit('nobody')) } }),
  })),
});

/** Every row has to keep something more. */
export const checked: Machine = {
  ...plain,
  checks: { stubborn: lte(col('failures'), lit(3)) },
};

/** Processing is called sending. */
export const renamed: Machine = {
  ...plain,
  states: Object.fromEntries(
    Object.entries(plain.states).map(([name, state]) => {
      const target = (edge: { readonly target: string }) =>
        edge.target === 'processing' ? 'sending' : edge.target;
      const on = Object.fromEntries(
        Object.entries(state.on ?? {}).map(([event, edges]) => [
          event,
          [edges ?? []].flat().map((edge) => ({ ...edge, target: target(edge) })),
        ]),
      );
      return [name === 'processing' ? 'sending' : name, state.on ? { ...state, on } : state];
    }),
  ),
};

/** What was the end of a delivery is not any more: failed ones may be revived. */
export const revivable: Machine = {
  ...plain,
  events: { ...plain.events, revive: { by: 'operator' } },
  commands: {},
  states: {
    ...plain.states,
    failed: { on: { revive: { target: 'pending', actions: set({ failures: lit(0) }) } } },
  },
};
