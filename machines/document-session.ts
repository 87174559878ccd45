// The machine of a document session as XState has it, made of the states that session-regions.ts
// writes down: for its diagram, its graph and the tests. In a page session-logic.ts runs the same
// states, and client/ loads nothing of this.

import { and, assign, not, or, setup, stateIn } from 'xstate';
import type { SessionEvent } from './session-events.ts';
import { type Facts, nothingKnown } from './session-facts.ts';
import { sessionRegions } from './session-regions.ts';
import { changes, delaysMs, guards, retryMs, told } from './session-setup.ts';
import type { Guard } from './session-states.ts';

type Change = (facts: Facts, event: SessionEvent, params: unknown) => Partial<Facts>;

/** A guard as XState's own helpers make it. */
function guardOf(guard: Guard): unknown {
  const inside = (guards: readonly Guard[]) => guards.map(guardOf) as string[];
  if (typeof guard === 'string') return guard;
  if ('not' in guard) return not(guardOf(guard.not) as string);
  if ('and' in guard) return and(inside(guard.and));
  return 'or' in guard ? or(inside(guard.or)) : stateIn(guard.in);
}

/** A part of the states, whatever it is, with its guards as XState has them. */
function configOf(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(configOf);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === 'guard' ? guardOf(value as Guard) : configOf(value),
    ]),
  );
}

/** An action of XState that does what a change says. */
export const assignment = (change: Change) =>
  assign<Facts, SessionEvent, unknown, SessionEvent, never>(({ context, event }, params) =>
    change(context, event, params),
  );

const assignments = Object.entries(changes).map(
  ([name, change]) => [name, assignment(change as Change)] as const,
);
const effects = Object.keys(told).map((name) => [name, () => {}] as const);

export const documentSession = setup({
  types: { context: {} as Facts, events: {} as SessionEvent },
  delays: { ...delaysMs, retry: ({ context }) => retryMs(context) },
  guards: Object.fromEntries(
    Object.entries(guards).map(([name, guard]) => [
      name,
      typeof guard === 'function'
        ? ({ context, event }: { context: Facts; event: SessionEvent }) => guard(context, event)
        : stateIn(guard.in),
    ]),
  ),
  actions: Object.fromEntries<never>([...assignments, ...effects] as never),
}).createMachine({
  id: 'documentSession',
  description: 'The editing of one document in one page.',
  type: 'parallel',
  context: nothingKnown,
  states: configOf(sessionRegions) as { readonly [region: string]: object },
});
