// What wrote a version, as the wire has it and in words: a person, or the step of a plan. Revisions
// and conflicts say it.

import type { RevisionSource } from '../../kinds/wire.ts';

/** Both are null where it was a person. */
interface Written {
  readonly proposal: string | null;
  readonly step: number | null;
}

export const sourceOf = ({ proposal, step }: Written): RevisionSource =>
  proposal === null || step === null ? { type: 'person' } : { type: 'plan', proposal, step };

/** Who wrote it, for people. `by` is a person, or who proposed the plan. */
export const writtenBy = (by: string, source: RevisionSource = { type: 'person' }): string =>
  source.type === 'person' ? by : `step ${source.step} of a plan of ${by}, ${source.proposal}`;
