// The kinds of problem that branches and operations add, and how what became of a request is one.

import { z } from 'zod';
import { frame, type Problem, problem, problemKind } from '../http/problem.ts';
import { operationId, operationStatus } from './answers.ts';
import type { Requested } from './request.ts';

export const kinds = {
  noProvider: problemKind('no_branch_provider', 404, 'This service is set up without branches'),
  branchNotFound: problemKind('branch_not_found', 404, 'There is no such branch'),
  parentNotFound: problemKind('parent_not_found', 422, 'There is no such branch to copy'),
  badName: problemKind('bad_branch_name', 422, 'No branch can have this name'),
  branchExists: problemKind('branch_exists', 409, 'There is a branch of this name already'),
  hasChildren: problemKind('branch_has_children', 409, 'Other branches were made of this one'),
  branchFixed: problemKind('branch_fixed', 409, 'This branch is never changed', {
    because: z.enum(['root', 'protected', 'own']),
  }),
  inFlight: problemKind('in_flight', 409, 'Another operation has the branch', {
    operation: operationId,
  }),
  unavailable: problemKind(
    'provider_unavailable',
    503,
    'The provider does not answer as it should',
  ),
  operationNotFound: problemKind('operation_not_found', 404, 'There is no such operation'),
  notCancelable: problemKind('not_cancelable', 409, 'This operation cannot be canceled any more', {
    operationStatus,
    because: z.array(z.string()).meta({ description: 'The conditions that are not true' }),
  }),
  unknownEvent: problemKind(
    'unknown_operation_event',
    400,
    'The stream cannot go on behind this event',
  ),
} as const;

/** What a request for a change can meet, beside what it is told of the frame. */
export const requestKinds = [
  ...[kinds.noProvider, kinds.branchNotFound, kinds.branchFixed, kinds.inFlight],
  ...[kinds.branchExists, kinds.unavailable, frame.keyReused],
] as const;
export const createKinds = [...requestKinds, kinds.parentNotFound, kinds.badName] as const;
export const resetKinds = [...requestKinds, kinds.badName] as const;
export const deleteKinds = [...requestKinds, kinds.hasChildren] as const;

export const noProvider = () =>
  problem(kinds.noProvider, 'Set BRANCHES to postgres or neon and start it again.');

const pointers = { branch: '/name', keepAs: '/keepAs' } as const;

const fixedBecause = {
  root: 'It is a root: nothing is above it whose data it could take.',
  protected: 'The provider protects it.',
  own: "It is the service's own database.",
} as const;

/** Says that the provider cannot be asked, and when to ask again where it said so. */
export function unavailableProblem(error: string, retryAfterMs: number | null) {
  const seconds = retryAfterMs === null ? undefined : Math.ceil(retryAfterMs / 1000);
  const headers = seconds === undefined ? {} : { 'Retry-After': String(seconds) };
  return problem(kinds.unavailable, error, { headers });
}

type Declined = Exclude<Requested, { readonly outcome: 'accepted' | 'replayed' }>;
type DeclinedCode = (typeof createKinds)[number]['code'] | 'branch_has_children';

/** Says of a request that enqueued nothing why not. */
export function declinedProblem(declined: Declined): Problem<DeclinedCode> {
  switch (declined.outcome) {
    case 'branch_not_found':
      return problem(kinds.branchNotFound, 'GET /v1/branches lists them.');
    case 'parent_not_found': {
      const detail = 'GET /v1/branches lists what can be copied.';
      const errors = [{ code: 'parent_not_found', pointer: '/parent', detail }];
      return problem(kinds.parentNotFound, detail, { errors });
    }
    case 'bad_name': {
      const detail = `It is not taken: ${declined.because}.`;
      const errors = [{ code: 'bad_branch_name', pointer: pointers[declined.of], detail }];
      return problem(kinds.badName, detail, { errors });
    }
    case 'branch_exists':
      return problem(kinds.branchExists, `It is "${declined.branch}". Take another name.`);
    case 'has_children':
      return problem(kinds.hasChildren, 'Delete those first.');
    case 'branch_fixed': {
      const { because } = declined;
      return problem(kinds.branchFixed, fixedBecause[because], { members: { because } });
    }
    case 'in_flight': {
      const { id: operation } = declined;
      const detail = `It is operation ${operation}. Wait for its end, or cancel it.`;
      return problem(kinds.inFlight, detail, { members: { operation } });
    }
    case 'idempotency_key_reused': {
      const detail = `It was used for another change, operation ${declined.id}. Take a new key.`;
      return problem(frame.keyReused, detail);
    }
    case 'provider_unavailable':
      return unavailableProblem(declined.error, declined.retryAfterMs);
    default:
      return declined satisfies never;
  }
}
