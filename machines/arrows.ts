// A machine's arrows as a flat list, with everything that is derived instead of written: what every
// reading of a declaration starts from (SQL, guards, in-memory machine, diagram, tests).
//
// - Order is the declaration's: of the arrows of one status and event the first true guard wins.
// - Leaving a leased status clears lease and owner. This is derived here, once.

import type { Machine } from './status-machine.ts';
import type { Node } from './vocabulary.ts';

export interface Arrow {
  readonly from: string;
  readonly event: string;
  readonly to: string;
  /** Named conditions, all of which must be true. Empty: always. */
  readonly guard: Readonly<Record<string, Node>>;
  /** The columns it writes, those that are derived included. */
  readonly set: Readonly<Record<string, Node>>;
  readonly description?: string;
  /** It keeps the status and writes the lease alone: a sign of life, not worth a journal row. */
  readonly renewal: boolean;
}

const nothing: Node = { lit: null };

export function isLeased(machine: Machine, status: string): boolean {
  return machine.states[status]?.tags?.includes('leased') ?? false;
}

export function isFinal(machine: Machine, status: string): boolean {
  return machine.states[status]?.type === 'final';
}

const derived = new WeakMap<Machine, readonly Arrow[]>();

/** Every arrow of the machine, in the order of the declaration. Derived once: it is plain data. */
export function arrowsOf(machine: Machine): readonly Arrow[] {
  const known = derived.get(machine);
  if (known) return known;
  const arrows = derive(machine);
  derived.set(machine, arrows);
  return arrows;
}

function derive(machine: Machine): readonly Arrow[] {
  return Object.entries(machine.states).flatMap(([from, state]) =>
    Object.entries(state.on ?? {}).flatMap(([event, edges]) =>
      [edges ?? []].flat().map((edge) => {
        const written = Object.entries(edge.actions?.params ?? {}).filter(
          (entry): entry is [string, Node] => entry[1] !== undefined,
        );
        const cleared = isLeased(machine, edge.target)
          ? []
          : [machine.lease, machine.owner].map((column): [string, Node] => [column, nothing]);
        return {
          from,
          event,
          to: edge.target,
          guard: edge.guard?.params ?? {},
          set: Object.fromEntries([...written, ...cleared]),
          ...(edge.description !== undefined && { description: edge.description }),
          renewal:
            from === edge.target && written.length === 1 && written[0]?.[0] === machine.lease,
        };
      }),
    ),
  );
}

export const arrowsBy = (machine: Machine, event: string): readonly Arrow[] =>
  arrowsOf(machine).filter((arrow) => arrow.event === event);

/** The events that the reaper sends, in the order of the declaration. */
export const sweepsOf = (machine: Machine): readonly string[] =>
  Object.keys(machine.events).filter((event) => machine.events[event]?.by === 'sweep');

/** The column in a guard that says from when on the arrow may be taken: `lte(col, clock)`. */
export function dueColumn(arrow: Arrow): string | undefined {
  for (const condition of Object.values(arrow.guard)) {
    if ('lte' in condition && 'col' in condition.lte[0] && 'clock' in condition.lte[1]) {
      return condition.lte[0].col;
    }
  }
  return undefined;
}
