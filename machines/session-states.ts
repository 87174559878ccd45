// How the states of a document session are written down: the part of XState's config that
// session-logic.ts runs in a page and document-session.ts gives to XState. Data only.
//
// - Each name in it is checked by the compiler: events, guards, actions and delays. An action that
//   reads its event can stand under that event alone.
// - An action is an effect, which client/ provides, or a change of the facts.

import type { SessionEvent } from './session-events.ts';
import type { EventOf, Facts } from './session-facts.ts';
import type { changes, DelayName, Effects, GuardName, Place } from './session-setup.ts';

type EventName = SessionEvent['type'];
type Changes = typeof changes;
type ChangeName = keyof Changes;

/** The event that a change reads; unknown where it reads none. */
type Read<N extends ChangeName> = Changes[N] extends (
  facts: Facts,
  event: infer E,
  params: never,
) => unknown
  ? E
  : never;

/** The changes that can be made by these events: those that read none, or just these. */
type ChangeBy<E extends EventName> = {
  readonly [N in ChangeName]: EventOf<E> extends Read<N> ? N : never;
}[ChangeName];

type Action<E extends EventName> =
  | keyof Effects
  | ChangeBy<E>
  | { readonly type: 'endDiscard'; readonly params: Parameters<Changes['endDiscard']>[2] };

type Actions<E extends EventName> = Action<E> | readonly Action<E>[];

export type Guard =
  | GuardName
  | { readonly not: Guard }
  | { readonly and: readonly Guard[] }
  | { readonly or: readonly Guard[] }
  | { readonly in: Place };

export interface Edge<E extends EventName = EventName> {
  /** A state beside this one, or the id of one after a `#`. None: it stays. */
  readonly target?: string;
  readonly guard?: Guard;
  readonly actions?: Actions<E>;
  /** Leaves and enters its own state anew, and with it the timers. */
  readonly reenter?: true;
}

/** An edge of whatever event. */
export type AnyEdge = { readonly [E in EventName]: Edge<E> }[EventName] | Edge;

/** The first one whose guard holds is taken. */
export type Edges<E extends EventName = EventName> = string | Edge<E> | readonly Edge<E>[];

export interface State {
  readonly id?: string;
  readonly description?: string;
  readonly tags?: string;
  readonly initial?: string;
  readonly entry?: Actions<EventName>;
  readonly on?: { readonly [E in EventName]?: Edges<E> };
  readonly always?: Edges;
  readonly after?: { readonly [D in DelayName]?: Edges };
  readonly states?: { readonly [name: string]: State };
}
