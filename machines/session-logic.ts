// Runs the states of a document session, as the logic of an XState actor. XState's own machine runs
// any statechart and is 8 kB gzipped of what every page would load; this runs what can be written
// down with session-states.ts. docs/decisions/0011 weighs that.
//
// - Semantics are XState's: of the edges of a state and an event the first true guard counts, an
//   inner state comes before an outer one, and then edges that need no event are taken until there
//   is none. The regions share events and facts, and nothing else.
// - An effect runs after the event that asked for it, told of the facts as it was asked for. One
//   that throws is reported to the page, and stops neither the others nor the session.
// - In the client's tests XState's machine of the same states runs beside it, and must agree.

import type { ActorLogic, ActorScope } from 'xstate';
import type { SessionEvent } from './session-events.ts';
import { type Facts, nothingKnown } from './session-facts.ts';
import { around, entered, isIn, moveBy, type Node, placeOf, regions } from './session-nodes.ts';
import {
  type changes,
  type DelayName,
  type Effects,
  guards,
  type Place,
  told,
} from './session-setup.ts';
import type { AnyEdge, Guard } from './session-states.ts';

/** A session at one time. It answers as XState's snapshots do. */
export interface SessionState {
  readonly status: 'active';
  readonly output: undefined;
  readonly error: undefined;
  readonly value: Place;
  readonly context: Facts;
  /** The innermost active state of each region. */
  readonly leaves: readonly Node[];
  matches(place: Place): boolean;
  hasTag(tag: string): boolean;
  /** Whether the event would do anything. */
  can(event: SessionEvent): boolean;
}

export interface SessionParts {
  readonly changes: typeof changes;
  readonly effects: Effects;
  readonly delays: Readonly<Record<DelayName, number | ((facts: Facts) => number)>>;
}

export type SessionLogic = ActorLogic<SessionState, SessionEvent>;

/** What happened, and how to reach the actor that it happened to. */
interface Moment {
  readonly event: SessionEvent;
  readonly scope: ActorScope<SessionState, SessionEvent>;
}

function stateOf(context: Facts, leaves: readonly Node[]): SessionState {
  const value: Place = Object.assign({}, ...leaves.map(placeOf));
  const state: SessionState = {
    ...{ status: 'active', output: undefined, error: undefined, value, context, leaves },
    matches: (place) => isIn(value, place),
    hasTag: (tag) => leaves.some((leaf) => around(leaf).some((node) => node.state.tags === tag)),
    can: (event) => enabled(state, event).some(({ edge }) => edge.target ?? edge.actions),
  };
  return state;
}

function holds(guard: Guard, state: SessionState, event: SessionEvent): boolean {
  const also = (each: Guard) => holds(each, state, event);
  if (typeof guard === 'string') {
    const named = guards[guard];
    return typeof named === 'function' ? named(state.context, event) : also(named);
  }
  if ('not' in guard) return !also(guard.not);
  if ('and' in guard) return guard.and.every(also);
  return 'or' in guard ? guard.or.some(also) : state.matches(guard.in);
}

interface Enabled {
  readonly region: number;
  readonly node: Node;
  readonly edge: AnyEdge;
}

/** The edges that are to be taken, one of a region at most. Those of `type` '' need no event. */
function enabled(
  state: SessionState,
  event: SessionEvent,
  type: string = event.type,
): readonly Enabled[] {
  return state.leaves.flatMap((leaf, region) => {
    for (const node of around(leaf)) {
      const edges = node.edges.get(type) ?? [];
      const edge = edges.find(({ guard }) => !guard || holds(guard, state, event));
      if (edge) return [{ region, node, edge }];
    }
    return [];
  });
}

export function sessionLogic({ changes, effects, delays }: SessionParts): SessionLogic {
  const act = (actions: AnyEdge['actions'], facts: Facts, { event, scope }: Moment): Facts => {
    let known = facts;
    for (const action of [actions ?? []].flat()) {
      const { type, params } = typeof action === 'object' ? action : { type: action, params: null };
      if (type in changes) {
        const change = changes[type as keyof typeof changes];
        known = { ...known, ...change(known, event as never, params as never) };
      } else {
        const effect = type as keyof Effects;
        const word = told[effect](known);
        // XState ends an actor whose effect throws, and then every edit would go nowhere.
        scope.defer(() => {
          try {
            effects[effect](word as never);
          } catch (error) {
            globalThis.reportError?.(error);
          }
        });
      }
    }
    return known;
  };

  const enter = (node: Node, facts: Facts, moment: Moment): Facts => {
    const { self, system, defer } = moment.scope;
    const known = act(node.state.entry, facts, moment);
    for (const [type, delay] of node.timers) {
      const wait = delays[delay];
      const ms = typeof wait === 'number' ? wait : wait(known);
      defer(() => system.scheduler.schedule(self, self, { type }, ms, type));
    }
    return known;
  };

  /** Leaves all that is left, then does what the edges say, then enters all that is entered. */
  const step = (state: SessionState, taken: readonly Enabled[], moment: Moment): SessionState => {
    const { self, system, defer } = moment.scope;
    const leaves = [...state.leaves];
    const moves = taken.map(({ region, node, edge }) => {
      const move = moveBy(edge, node, leaves[region] ?? node);
      leaves[region] = move.leaf;
      return move;
    });
    const stopped = moves.flatMap(({ left }) => left.flatMap(({ timers }) => timers));
    for (const [type] of stopped) defer(() => system.scheduler.cancel(self, type));
    let facts = state.context;
    for (const { edge } of taken) facts = act(edge.actions, facts, moment);
    for (const node of moves.flatMap((move) => move.entered)) facts = enter(node, facts, moment);
    return stateOf(facts, leaves);
  };

  /** Takes edges that need no event, until there is none. */
  const settle = (state: SessionState, moment: Moment): SessionState => {
    const taken = enabled(state, moment.event, '');
    return taken.length === 0 ? state : settle(step(state, taken, moment), moment);
  };

  return {
    getInitialSnapshot(scope) {
      const moment = { event: { type: 'xstate.init' } as never, scope };
      const nodes = regions.flatMap(entered);
      const facts = nodes.reduce((known, node) => enter(node, known, moment), nothingKnown);
      const leaves = nodes.filter(({ state }) => !state.initial);
      return settle(stateOf(facts, leaves), moment);
    },
    transition(state, event, scope) {
      const moment = { event, scope };
      const taken = enabled(state, event);
      return settle(taken.length === 0 ? state : step(state, taken, moment), moment);
    },
    getPersistedSnapshot: (state) => state,
  };
}
