// The states of a document session as a tree that can be walked, made once when it is imported.
// session-logic.ts runs it.
//
// - A region is a node without a parent. An edge leads to a node of its own region.
// - Ids and the types of timers' events are those that XState gives.

import { sessionRegions } from './session-regions.ts';
import type { DelayName, Place } from './session-setup.ts';
import type { AnyEdge, State } from './session-states.ts';

export interface Node {
  readonly key: string;
  readonly parent: Node | null;
  readonly state: State;
  readonly children: Readonly<Record<string, Node>>;
  /** By type of event; those that need none are under the empty one. */
  readonly edges: ReadonlyMap<string, readonly AnyEdge[]>;
  /** What runs from the entry to the exit: type of event and delay. */
  readonly timers: readonly (readonly [type: string, delay: DelayName])[];
}

const byId = new Map<string, Node>();

const edgesOf = (edges: string | AnyEdge | readonly AnyEdge[]): readonly AnyEdge[] =>
  [edges].flat().map((edge) => (typeof edge === 'string' ? { target: edge } : edge));

function nodeOf(state: State, parent: Node | null, path: readonly string[]): Node {
  const { id = path.join('.'), on = {}, always = [], after = {}, states = {} } = state;
  const timed = Object.entries(after).map(
    ([delay, edges]) => [`xstate.after.${delay}.${id}`, delay as DelayName, edges] as const,
  );
  const edges = new Map([['', edgesOf(always)]]);
  for (const [type, each] of Object.entries(on)) edges.set(type, edgesOf(each));
  for (const [type, , each] of timed) edges.set(type, edgesOf(each));
  const children: Record<string, Node> = {};
  const timers = timed.map(([type, delay]) => [type, delay] as const);
  const node = { key: path.at(-1) ?? '', parent, state, children, edges, timers };
  byId.set(id, node);
  for (const [key, child] of Object.entries(states)) {
    children[key] = nodeOf(child, node, [...path, key]);
  }
  return node;
}

/** The regions, in the order in which they are declared. */
export const regions: readonly Node[] = Object.entries(sessionRegions).map(([key, state]) =>
  nodeOf(state, null, ['documentSession', key]),
);

/** A node and those around it, from the inside out. */
export const around = (node: Node | null): readonly Node[] =>
  node ? [node, ...around(node.parent)] : [];

/** A node and those that are entered with it, from the outside in. */
export function entered(node: Node): readonly Node[] {
  const first = node.children[node.state.initial ?? ''];
  return first ? [node, ...entered(first)] : [node];
}

/** The region and the states in it, as XState writes them down. */
export const placeOf = (leaf: Node): Place =>
  around(leaf.parent).reduce<Place | string>(
    (inner, { key }) => ({ [key]: inner }),
    leaf.key,
  ) as Place;

/** Whether a place is in another one, that says less. */
export const isIn = (place: Place | string | undefined, outer: Place | string): boolean =>
  place === outer ||
  (typeof place === 'object' &&
    (typeof outer === 'string'
      ? outer in place
      : Object.entries(outer).every(([key, inner]) => isIn(place[key], inner))));

export interface Move {
  /** From the inside out. */
  readonly left: readonly Node[];
  /** From the outside in. */
  readonly entered: readonly Node[];
  readonly leaf: Node;
}

/**
 * What an edge of `node` leaves and enters, while `leaf` is active in the region. An edge to
 * something inside its own state does not leave that state, unless it says so.
 */
export function moveBy(edge: AnyEdge, node: Node, leaf: Node): Move {
  const { target: name, reenter } = edge;
  if (name === undefined) return { left: [], entered: [], leaf };
  const target = name.startsWith('#') ? byId.get(name.slice(1)) : node.parent?.children[name];
  if (!target) throw new Error(name);
  const way = around(target);
  const stays = around(reenter ? node.parent : node).find((each) => way.includes(each));
  const before = (nodes: readonly Node[]) => nodes.slice(0, stays && nodes.indexOf(stays));
  const inside = [...before(way).toReversed(), ...entered(target).slice(1)];
  return { left: before(around(leaf)), entered: inside, leaf: entered(target).at(-1) ?? target };
}
