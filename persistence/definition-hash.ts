// The identity of a definition: a hash of everything that a declaration says. Two processes whose
// machines differ in a guard, an effect or a description of an arrow run different definitions.

import { createHash } from 'node:crypto';
import type { Machine } from '../machines/status-machine.ts';

/**
 * JSON with sorted keys: jsonb gives them back in another order. States and events are sets, arrows
 * of one event are a list: order counts.
 */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`;
}

const hashes = new WeakMap<Machine, string>();

export function definitionHash(machine: Machine): string {
  const known = hashes.get(machine);
  if (known) return known;
  const hash = createHash('sha256').update(canonical(machine)).digest('hex');
  hashes.set(machine, hash);
  return hash;
}
