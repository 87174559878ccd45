// The routes to branches: list them, and ask for a change of one. What is asked for is an
// operation; operation-routes.ts shows what becomes of it.
//
// - The Idempotency-Key is the operation's own key, not the frame's: the provider is asked before
//   anything is written, and no transaction waits for it. It is the caller's for all changes of
//   branches, and known for as long as the operation is kept. Whoever repeats a request is told how
//   the operation is by then. A refusal does not use the key up.
// - Without a key each request is one of its own. One operation a branch keeps a second one out as
//   long as the first is on its way.

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { dbops } from '../../machines/dbops.ts';
import type { StatusOf } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { readOperation } from '../../persistence/operations.ts';
import type { Problem } from '../http/problem.ts';
import { type Principal, type Route, route } from '../http/route.ts';
import { branchAnswer, branchList, requested } from './answers.ts';
import {
  createKinds,
  declinedProblem,
  deleteKinds,
  kinds,
  noProvider,
  resetKinds,
  unavailableProblem,
} from './problems.ts';
import type { Change, Provider } from './provider.ts';
import { requestChange } from './request.ts';

export interface BranchRoutesOptions {
  readonly database: Database;
  /** Whose branches they are; absent where the service is set up without. */
  readonly provider?: Provider | undefined;
}

const name = z.string().min(1).max(1000).meta({ description: 'The name of a branch' });
const params = z.strictObject({ name });
const headers = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'This must be 1 to 255 printable characters, without blanks')
    .optional()
    .meta({
      description:
        'The same change under the same key is one operation, for as long as that is kept (90 ' +
        'days after its end): who repeats the request is answered with it as it is by then, and ' +
        '`Idempotency-Replayed: true`. Another change under it gets 422. A key is of one caller, ' +
        'for all changes of branches; a request that was refused does not use it up.',
    }),
});

interface Asked {
  readonly headers: z.output<typeof headers>;
  readonly principal: Principal;
  readonly change: Change;
}

const following = 'The answer comes at once; follow its `Location` for what becomes of it.';

export function branchRoutes({ database, provider }: BranchRoutesOptions): readonly Route[] {
  /** The types of a route say which problems its change can meet. */
  async function ask<Code extends string>({ headers: sent, principal, change }: Asked) {
    type Met = Problem<Code>;
    if (!provider) return noProvider() as Problem as Met;
    const idempotencyKey = sent['idempotency-key'] ?? randomUUID();
    const asking = { actor: principal.sub, idempotencyKey, change };
    const outcome = await requestChange(database, provider, asking);
    if (outcome.outcome !== 'accepted' && outcome.outcome !== 'replayed') {
      return declinedProblem(outcome) as Problem as Met;
    }
    const { id } = outcome;
    const isAgain = outcome.outcome === 'replayed';
    const row = isAgain ? await readOperation(database.db, id) : undefined;
    const status = (row?.status ?? dbops.initial) as StatusOf<typeof dbops>;
    return {
      status: 202 as const,
      body: { id, status },
      location: `/v1/operations/${id}`,
      ...(isAgain && { headers: { 'Idempotency-Replayed': 'true' } }),
    };
  }

  const list = route({
    method: 'get',
    path: '/v1/branches',
    scope: 'operations:read',
    operation: 'listBranches',
    summary: 'List the branches, and what can be copied into one',
    answers: { 200: branchList },
    problems: [kinds.noProvider, kinds.unavailable],
  }).handle(async ({ signal }) => {
    if (!provider) return noProvider();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(provider.timeoutMs)]);
    const listed = await provider.list(limit);
    if (listed.result !== 'ok') return unavailableProblem(listed.error, listed.retryAfterMs);
    const items = listed.value.map(branchAnswer);
    return { status: 200, body: { provider: provider.name, items } };
  });

  const create = route({
    method: 'post',
    path: '/v1/branches',
    scope: 'operations:write',
    operation: 'createBranch',
    summary: 'Ask for a new branch with the data of another',
    description: following,
    headers,
    body: z.strictObject({ name, parent: name }),
    answers: { 202: requested },
    problems: createKinds,
  }).handle(({ headers: sent, principal, body: { name: branch, parent } }) =>
    ask({ headers: sent, principal, change: { action: 'create', branch, parent } }),
  );

  const reset = route({
    method: 'post',
    path: '/v1/branches/{name}/resets',
    scope: 'operations:write',
    operation: 'resetBranch',
    summary: 'Ask for the data of its parent to be brought back into a branch',
    description: `${following} What was in the branch is gone, unless \`keepAs\` names a branch for it.`,
    headers,
    params,
    body: z.strictObject({ keepAs: name.optional() }),
    answers: { 202: requested },
    problems: resetKinds,
  }).handle(({ headers: sent, principal, params: { name: branch }, body: { keepAs } }) => {
    const kept = keepAs !== undefined && { keepAs };
    return ask({ headers: sent, principal, change: { action: 'reset', branch, ...kept } });
  });

  const remove = route({
    method: 'delete',
    path: '/v1/branches/{name}',
    scope: 'operations:write',
    operation: 'deleteBranch',
    summary: 'Ask for a branch to be deleted',
    description: following,
    headers,
    params,
    answers: { 202: requested },
    problems: deleteKinds,
  }).handle(({ headers: sent, principal, params: { name: branch } }) =>
    ask({ headers: sent, principal, change: { action: 'delete', branch } }),
  );

  return [list, create, reset, remove];
}
