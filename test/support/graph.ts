// The one file that imports @xstate/graph, so that its move into xstate is one line here.

import {
  getAdjacencyMap as adjacencyMap,
  getShortestPaths as shortestPaths,
  getSimplePaths as simplePaths,
} from '@xstate/graph';
import type { SnapshotFrom } from 'xstate';
import type { documentSession } from '../../machines/document-session.ts';
import type { inMemory, MomentEvent } from '../../machines/in-memory.ts';

type Logic = ReturnType<typeof inMemory>;
export type Snapshot = SnapshotFrom<Logic>;

export interface Bounds {
  readonly events: readonly MomentEvent[];
  /** States that are reached but not left. */
  readonly stopWhen: (snapshot: Snapshot) => boolean;
}

export interface Place {
  readonly snapshot: Snapshot;
  readonly sent: readonly { readonly event: MomentEvent; readonly next: Snapshot }[];
}

interface Adjacent {
  readonly state: Snapshot;
  readonly transitions: Readonly<
    Record<string, { readonly event: MomentEvent; readonly state: Snapshot }>
  >;
}

/** So many states would take minutes to check. The package throws at it, it does not truncate. */
const limit = 100_000;

/** Every reachable state, with what each event makes of it. */
export function reach(logic: Logic, { events, stopWhen }: Bounds): readonly Place[] {
  const map = adjacencyMap(logic, { events, stopWhen, limit });
  return Object.values<Adjacent>({ ...map }).map(({ state, transitions }) => ({
    snapshot: state,
    sent: Object.values(transitions).map(({ event, state: next }) => ({ event, next })),
  }));
}

/** Every way to every reachable state that is in no state twice: the events, in order. */
export function paths(logic: Logic, { events, stopWhen }: Bounds): readonly MomentEvent[][] {
  return simplePaths(logic, { events, stopWhen, limit }).map((path) =>
    path.steps.map(({ event }) => event).filter(({ type }) => type !== 'xstate.init'),
  );
}

type Session = typeof documentSession;
type SessionState = SnapshotFrom<Session>;

export interface WaysOptions {
  readonly eventsIn: (state: SessionState) => readonly { readonly type: string }[];
  /** States with one key are one. */
  readonly keyOf: (state: SessionState) => string;
  /** Events at most. */
  readonly longest: number;
}

/** The shortest way to every state of a session: the events, in order, and where they lead. */
export function waysTo(
  machine: Session,
  { eventsIn, keyOf, longest }: WaysOptions,
): readonly { readonly events: readonly { readonly type: string }[]; state: SessionState }[] {
  const found = shortestPaths(machine, {
    events: eventsIn as never,
    serializeState: keyOf as never,
    limit,
  });
  return found.flatMap(({ steps, state }) => {
    const sent = steps.map(({ event }) => event as { readonly type: string });
    const events = sent.filter(({ type }) => type !== 'xstate.init');
    return events.length > 0 && events.length <= longest ? [{ events, state }] : [];
  });
}
