// What the compiler refuses in the states of a document session. That the run of this file passes
// says nothing; `npm run check` does.

import { expect, it } from 'vitest';
import type { State } from '../../machines/session-states.ts';

it('a state of a session names what there is, and no action where it lacks its event', () => {
  const states: readonly State[] = [
    { on: { 'save.stored': { actions: 'noteStored' }, hold: { actions: ['hold', 'shelve'] } } },
    // @ts-expect-error It reads another event.
    { on: { 'save.refused': { actions: 'noteStored' } } },
    // @ts-expect-error It reads an event, and here is none.
    { always: { actions: 'noteStored' } },
    // @ts-expect-error
    { on: { 'save.lost': 'unconfirmed' } },
    // @ts-expect-error
    { on: { edit: { guard: 'isOpen', actions: 'edit' } } },
    // @ts-expect-error
    { after: { tomorrow: 'clean' } },
    // @ts-expect-error
    { exit: 'writeDraft' },
  ];
  expect(states).toHaveLength(7);
});
