// What a run offers to people at a moment: the events and commands that could be sent now, and why
// the others could not. Pages make their buttons of it; only the door decides.
//
// - A condition that reads a field is left to whoever fills the field in.

import { arrowsBy } from './arrows.ts';
import { evaluate, type Scope } from './evaluate.ts';
import { walk } from './kind-of.ts';
import type { Machine } from './status-machine.ts';
import type { Node } from './vocabulary.ts';

export interface Offer {
  readonly name: string;
  readonly kind: 'event' | 'command';
  readonly allowed: boolean;
  /** The names of the conditions that are not true; `wrong_status` where there is no arrow. */
  readonly because: readonly string[];
}

const readsField = (condition: Node) => walk(condition).some((node) => 'field' in node);

/** The offers of a run in this status, for who looks at it: `scope` has the row and the actor. */
export function offersOf(
  machine: Machine,
  status: string,
  scope: Omit<Scope, 'fields' | 'dice'>,
): readonly Offer[] {
  const whole = { ...scope, fields: {}, dice: 0 };
  const events = Object.entries(machine.events)
    .filter(([, { by }]) => by === 'operator' || by === 'claim')
    .map(([name]): Offer => {
      const arrows = arrowsBy(machine, name).filter(({ from }) => from === status);
      const untrue = arrows.map(({ guard }) =>
        Object.entries(guard)
          .filter(([, condition]) => !readsField(condition))
          .filter(([, condition]) => evaluate(condition, whole) !== true)
          .map(([condition]) => condition),
      );
      const allowed = untrue.some((names) => names.length === 0);
      const because = allowed ? [] : [...new Set(untrue.flat())];
      const why = arrows.length === 0 ? ['wrong_status'] : because;
      return { name, kind: 'event', allowed, because: why };
    });
  const commands = Object.entries(machine.commands ?? {}).map(([name, { from }]): Offer => {
    const allowed = from.includes(status);
    return { name, kind: 'command', allowed, because: allowed ? [] : ['wrong_status'] };
  });
  return [...events, ...commands];
}
