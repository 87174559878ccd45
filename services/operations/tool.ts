// The tool `branch.reset`: an operation, enqueued in the step's own transaction. The reset is asked
// for if and only if the step is committed; a preview enqueues nothing, because it is taken back.
//
// - The step does not wait for the end of the operation. What it puts out names it.
// - The key is the step's place in its plan: no other step, and no request, has it.

import { z } from 'zod';
import { defineTool, type Tool } from '../proposals/tools.ts';
import type { Provider } from './provider.ts';
import { enqueueChange } from './request.ts';

/** The branch could not be taken for this step. */
class BranchToolError extends Error {
  override readonly name = 'BranchToolError';
  readonly code = 'in_flight';
}

export function branchTool(provider: Pick<Provider, 'name' | 'nameFault'>): Tool {
  const name = z.string().superRefine((text, { addIssue }) => {
    const message = provider.nameFault(text);
    if (message !== undefined) addIssue({ code: 'custom', message });
  });
  return defineTool({
    name: 'branch.reset',
    version: 1,
    description:
      'Brings the data of its parent back into a database branch. What was in the branch is ' +
      'gone, unless keepAs names a new branch for it.',
    risk: 'high',
    input: z.strictObject({ branch: name, keepAs: name.optional() }),
    async run(tx, { branch, keepAs }, { proposal, step, proposer }) {
      const kept = keepAs !== undefined && { keepAs };
      const enqueued = await enqueueChange(tx, provider, {
        actor: proposer,
        // With blanks, which a key over HTTP cannot have.
        idempotencyKey: `plan ${proposal} step ${step}`,
        change: { action: 'reset', branch, ...kept },
      });
      if (enqueued.outcome === 'in_flight' || enqueued.outcome === 'idempotency_key_reused') {
        throw new BranchToolError(`operation ${enqueued.id} has the branch "${branch}"`);
      }
      return { operation: enqueued.id };
    },
    inverse: ({ arguments: given }) => {
      const { branch, keepAs } = z
        .object({ branch: z.string(), keepAs: z.string().optional() })
        .parse(given);
      const where = keepAs === undefined ? 'It was not kept.' : `It is kept in “${keepAs}”.`;
      return { reason: `What was in the branch “${branch}” before cannot be put back. ${where}` };
    },
    sentence: ({ branch, keepAs }) =>
      keepAs === undefined
        ? `Resets the branch “${branch}” to its parent’s data; what is in it is lost.`
        : `Resets the branch “${branch}” to its parent’s data, and keeps what is in it as “${keepAs}”.`,
  });
}
