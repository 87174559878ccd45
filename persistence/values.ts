// Values on their way into a statement: checked, so that one row's bad value is that row's answer
// and not the end of a batch, then put into the form that node-postgres sends.

import { isNullable, kindOfDeclared } from '../machines/kind-of.ts';
import type { Declared, Kind } from '../machines/vocabulary.ts';
import { printInstant } from './instant.ts';
import { longestText, type TextFault, textFault } from './text.ts';

export type ValueFault =
  | TextFault
  | 'missing'
  | 'wrong_kind'
  | 'out_of_range'
  | 'too_deep'
  | 'not_json';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const largestInt = 2_147_483_647;
const smallestInt = -2_147_483_648;
const deepest = 100;
const most = 1_000_000;

export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && uuid.test(value);

/** Looks through a JSON value, not deeper than `deepest` and not longer than `most`. */
function jsonFault(value: unknown, budget: { left: number }, depth = 0): ValueFault | undefined {
  if (depth > deepest) return 'too_deep';
  budget.left -= 1;
  if (budget.left < 0) return 'too_long';
  if (typeof value === 'string') return textFault(value);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'not_json';
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value !== 'object') return 'not_json';
  const isPlain =
    Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isPlain) return 'not_json';
  for (const [key, each] of Object.entries(value)) {
    const fault = textFault(key) ?? jsonFault(each, budget, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

function kindFault(value: unknown, kind: Kind): ValueFault | undefined {
  switch (kind) {
    case 'int':
      if (typeof value !== 'number') return 'wrong_kind';
      if (!Number.isInteger(value)) return 'out_of_range';
      return value < smallestInt || value > largestInt ? 'out_of_range' : undefined;
    case 'instant':
      if (typeof value !== 'number') return 'wrong_kind';
      // Exact: from the year 1684 to 2255.
      return Number.isSafeInteger(value) ? undefined : 'out_of_range';
    case 'text':
      return typeof value === 'string' ? textFault(value) : 'wrong_kind';
    case 'bool':
      return typeof value === 'boolean' ? undefined : 'wrong_kind';
    case 'uuid':
      return isUuid(value) ? undefined : 'wrong_kind';
    case 'json':
      try {
        const fault = jsonFault(value, { left: most });
        if (fault) return fault;
        return JSON.stringify(value).length > longestText ? 'too_long' : undefined;
      } catch {
        // A getter or a proxy threw: whatever this is, it is no value.
        return 'not_json';
      }
    default:
      return kind satisfies never;
  }
}

/** Says what is wrong with a value for a declared field or column; undefined if nothing is. */
export function valueFault(value: unknown, declared: Declared): ValueFault | undefined {
  if (value === undefined || value === null) return isNullable(declared) ? undefined : 'missing';
  return kindFault(value, kindOfDeclared(declared));
}

/** Puts a checked value into the form in which it is bound. */
export function bound(value: unknown, declared: Declared): unknown {
  if (value === undefined || value === null) return null;
  const kind = kindOfDeclared(declared);
  if (kind === 'instant') return printInstant(value as number);
  // Postgres prints uuids in lower case, and memory compares them as text.
  if (kind === 'uuid') return (value as string).toLowerCase();
  return kind === 'json' ? JSON.stringify(value) : value;
}
