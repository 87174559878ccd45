// The routes by which an owner shares a document.

import { z } from 'zod';
import type { Database } from '../../persistence/database.ts';
import { problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { documentId, grants, line } from './answers.ts';
import { grant, revoke, showGrants } from './documents.ts';
import { deniedKinds, deniedProblem, kinds } from './problems.ts';

const params = z.strictObject({ id: documentId });
const grantee = line(255);
const granteeParams = params.extend({ grantee });

export function grantRoutes(database: Database): readonly Route[] {
  const list = route({
    method: 'get',
    path: '/v1/documents/{id}/grants',
    scope: 'documents:read',
    operation: 'listGrants',
    summary: 'See with whom a document of yours is shared',
    params,
    answers: { 200: grants },
    problems: [...deniedKinds, kinds.ownDocument],
  }).handle(async ({ params: { id }, principal }) =>
    granted(await showGrants(database.db, { id, actor: principal.sub })),
  );

  const put = route({
    method: 'put',
    path: '/v1/documents/{id}/grants/{grantee}',
    scope: 'documents:write',
    operation: 'putGrant',
    summary: 'Share a document with somebody, for reading or for editing',
    params: granteeParams,
    body: z.strictObject({ access: z.enum(['reader', 'editor']) }),
    answers: { 200: grants },
    problems: [...deniedKinds, kinds.ownDocument],
  }).handle(async ({ params: { id, grantee: who }, body, principal }) =>
    granted(
      await grant(database.db, { id, actor: principal.sub, grantee: who, access: body.access }),
    ),
  );

  const remove = route({
    method: 'delete',
    path: '/v1/documents/{id}/grants/{grantee}',
    scope: 'documents:write',
    operation: 'deleteGrant',
    summary: 'Stop sharing a document with somebody',
    params: granteeParams,
    answers: { 200: grants },
    problems: [...deniedKinds, kinds.ownDocument],
  }).handle(async ({ params: { id, grantee: who }, principal }) =>
    granted(await revoke(database.db, { id, actor: principal.sub, grantee: who })),
  );

  return [list, put, remove];
}

function granted(outcome: Awaited<ReturnType<typeof showGrants>>) {
  if (outcome.outcome === 'granted') {
    return { status: 200, body: { grants: outcome.grants } } as const;
  }
  if (outcome.outcome === 'own_document') {
    return problem(kinds.ownDocument, 'Share it with somebody else.');
  }
  return deniedProblem(outcome);
}
