// The in-memory reading: a declaration as an XState machine, whose pure `transition` is what the
// SQL reading is compared with. Tests, simulators and clients call it; no service needs it to move
// a run.
//
// - The context is the row. An event carries the moment (`at`, `dice`) that the database gave it,
//   so that a transition that happened can be replayed exactly, and its `actor` where that counts.
// - The fence is not judged here: it is a matter of who asks, not of the machine.

import { assign, setup } from 'xstate';
import { arrowsOf } from './arrows.ts';
import { evaluate, type Moment, type Scope } from './evaluate.ts';
import type { Machine } from './status-machine.ts';
import type { Node } from './vocabulary.ts';

export type Row = Readonly<Record<string, unknown>>;
export type MomentEvent = Moment & { readonly type: string } & Readonly<Record<string, unknown>>;

const scopeOf = (row: Row, event: MomentEvent): Scope => ({
  row,
  fields: event,
  at: event.at,
  dice: event.dice,
  actor: event['actor'],
});

/** Builds the XState machine of a declaration, with `row` as its initial context. */
export function inMemory(machine: Machine, row: Row = {}) {
  const states = Object.fromEntries(
    Object.entries(machine.states).map(([name, state]) => [
      name,
      { ...state, tags: [...(state.tags ?? [])], on: {} as Record<string, object[]> },
    ]),
  );
  for (const arrow of arrowsOf(machine)) {
    const on = states[arrow.from]?.on ?? {};
    on[arrow.event] = [
      ...(on[arrow.event] ?? []),
      {
        target: arrow.to,
        guard: { type: 'when', params: arrow.guard },
        actions: { type: 'set', params: arrow.set },
      },
    ];
  }
  return setup({
    types: { context: {} as Row, events: {} as MomentEvent },
    guards: {
      when: ({ context, event }, conditions: Readonly<Record<string, Node>>) =>
        Object.values(conditions).every(
          (condition) => evaluate(condition, scopeOf(context, event)) === true,
        ),
    },
    actions: {
      set: assign(({ context, event }, columns: Readonly<Record<string, Node>>) => ({
        ...context,
        ...Object.fromEntries(
          Object.entries(columns).map(([name, node]) => [
            name,
            evaluate(node, scopeOf(context, event)),
          ]),
        ),
      })),
    },
  }).createMachine({ id: machine.id, initial: machine.initial, context: row, states });
}
