// A plan as bytes: the one function that turns steps into the text that is hashed, shown and
// approved, and into its hash.
//
// - Keys are sorted, and there is no whitespace: what two JSON texts mean the same by has one hash.
//   Order of steps and of lists counts.
// - Only the plan is hashed: no id, no status, no time, no link. Approving changes nothing of it.
// - What JSON cannot carry unchanged is refused: NaN, integers that JavaScript rounds, NUL, halves
//   of surrogate pairs, more than 100 levels. Of a key that a JSON text has twice the last one
//   counts, as everywhere in JavaScript, and it is the only one in what is shown and approved.

import { createHash } from 'node:crypto';
import { canonical } from '../../persistence/definition-hash.ts';
import type { StoredStep } from '../../persistence/proposals.ts';
import { type ValueFault, valueFault } from '../../persistence/values.ts';

export type ArgumentsFault = ValueFault | 'unsafe_integer';

const longestArguments = 262_144;

function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);
}

/** Says why a value cannot be stored, hashed and read back as it is; undefined if it can. */
export function argumentsFault(value: unknown): ArgumentsFault | undefined {
  if (value === undefined) return 'missing';
  const fault = valueFault(value, 'json?');
  if (fault) return fault;
  if (hasUnsafeInteger(value)) return 'unsafe_integer';
  return canonical(value).length > longestArguments ? 'too_long' : undefined;
}

/** The text of a value without faults: the same for each value that means the same. */
export const canonicalText = (value: unknown): string => canonical(value);

/** The whole plan as text. Arguments are canonical already, so this is canonical as a whole. */
export const planText = (steps: readonly StoredStep[]): string =>
  `[${steps
    .map(
      ({ tool, version, arguments: text }) =>
        `{"arguments":${text},"tool":${JSON.stringify(tool)},"version":${version}}`,
    )
    .join(',')}]`;

/** SHA-256 of the plan's text, in hexadecimal. */
export const planHash = (steps: readonly StoredStep[]): string =>
  createHash('sha256').update(planText(steps)).digest('hex');
