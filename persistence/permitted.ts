// What a definition permits, as a set of facts: the basis on which two definitions are compared.
//
// - More statuses and arrows permit more, and so does a status that is final no more; more checks
//   permit less.
// - Guards and effects are not facts: the database does not hold them, and two processes that
//   differ only there can work side by side.

import { arrowsOf, isFinal, isLeased } from '../machines/arrows.ts';
import type { Machine } from '../machines/status-machine.ts';
import { canonical } from './definition-hash.ts';

export interface Permitted {
  readonly allows: ReadonlySet<string>;
  readonly checks: ReadonlySet<string>;
}

export function permitted(machine: Machine): Permitted {
  const statuses = Object.keys(machine.states);
  const owned = (status: string) => (isLeased(machine, status) ? 'with an owner' : 'without owner');
  return {
    allows: new Set([
      `fence in ${machine.table}.${machine.fence}, lease ${machine.lease}, owner ${machine.owner}`,
      ...statuses.map((status) => `status ${status} ${owned(status)}`),
      ...statuses
        .filter((status) => !isFinal(machine, status))
        .map((status) => `status ${status} may be left`),
      ...arrowsOf(machine).map(({ from, event, to }) => `arrow ${from} → ${to} by ${event}`),
    ]),
    checks: new Set(
      Object.entries(machine.checks ?? {}).map(
        ([name, node]) => `check ${name}: ${canonical(node)}`,
      ),
    ),
  };
}

const beyond = (a: ReadonlySet<string>, b: ReadonlySet<string>) =>
  [...a].filter((fact) => !b.has(fact));

export interface Difference {
  /** What mine permits and the installed one does not. */
  readonly wider: readonly string[];
  /** What the installed one permits and mine does not. */
  readonly narrower: readonly string[];
}

export function difference(mine: Machine, installed: Machine): Difference {
  const [a, b] = [permitted(mine), permitted(installed)];
  return {
    wider: [
      ...beyond(a.allows, b.allows),
      ...beyond(b.checks, a.checks).map((c) => `without ${c}`),
    ],
    narrower: [
      ...beyond(b.allows, a.allows),
      ...beyond(a.checks, b.checks).map((c) => `with ${c}`),
    ],
  };
}
