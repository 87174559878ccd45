// The routes to a document's history. Restoring is a save; see save-routes.ts.

import { z } from 'zod';
import type { Database } from '../../persistence/database.ts';
import { badCursor, pageQuery, printCursor, readCursor } from '../http/keyset.ts';
import { frame, problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { documentId, line, revisionPage, revisionView, version, withContent } from './answers.ts';
import { deniedKinds, deniedProblem, kinds, readDenied, readKinds } from './problems.ts';
import { nameVersion, showRevision, showRevisions } from './revisions.ts';

const params = z.strictObject({ id: documentId });
const revisionParams = params.extend({ version: z.coerce.number().pipe(version) });
const noRevision = (asked: number) =>
  problem(kinds.noRevision, `Version ${asked} never was, or was thinned out.`);

export function revisionRoutes(database: Database): readonly Route[] {
  const revisions = route({
    method: 'get',
    path: '/v1/documents/{id}/revisions',
    scope: 'documents:read',
    operation: 'listRevisions',
    summary: 'List the versions of a document, newest first',
    params,
    query: z.strictObject(pageQuery),
    answers: { 200: revisionPage },
    problems: [...readKinds, frame.invalidQuery],
  }).handle(async ({ params: { id }, query: { cursor, limit }, principal }) => {
    const before = cursor === undefined ? undefined : readCursor(cursor, id, version);
    if (cursor !== undefined && before === undefined) return badCursor();
    const page = { id, actor: principal.sub, limit, ...(before !== undefined && { before }) };
    const read = await showRevisions(database.db, page);
    if (read.outcome !== 'read') return readDenied(read);
    const next = read.next === null ? null : printCursor(id, read.next);
    return { status: 200, body: { items: [...read.revisions], next } };
  });

  const revision = route({
    method: 'get',
    path: '/v1/documents/{id}/revisions/{version}',
    scope: 'documents:read',
    operation: 'getRevision',
    summary: 'Read a version of a document',
    params: revisionParams,
    answers: { 200: revisionView },
    problems: [...readKinds, kinds.noRevision],
  }).handle(async ({ params: { id, version: asked }, principal }) => {
    const read = await showRevision(database.db, { id, actor: principal.sub, version: asked });
    if (read.outcome === 'no_revision') return noRevision(asked);
    if (read.outcome !== 'read') return readDenied(read);
    return { status: 200, text: withContent(read.revision, read.text) };
  });

  const revisionName = z.strictObject({ name: line(200).nullable() });
  const nameRevision = route({
    method: 'put',
    path: '/v1/documents/{id}/revisions/{version}/name',
    scope: 'documents:write',
    operation: 'nameRevision',
    summary: 'Name a version, which is then kept for good; null takes the name away',
    params: revisionParams,
    body: revisionName,
    answers: { 200: revisionName.extend({ version }) },
    problems: [...deniedKinds, kinds.noRevision],
  }).handle(async ({ params: { id, version: asked }, body, principal }) => {
    const given = { id, actor: principal.sub, version: asked, name: body.name };
    const named = await nameVersion(database.db, given);
    if (named.outcome === 'no_revision') return noRevision(asked);
    if (named.outcome !== 'named') return deniedProblem(named);
    return { status: 200, body: { version: asked, name: body.name } };
  });

  return [revisions, revision, nameRevision];
}
