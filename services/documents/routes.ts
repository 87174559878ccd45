// The documents' HTTP API: the documents themselves, and all of its routes put together.

import { z } from 'zod';
import { largestBody } from '../../kinds/wire.ts';
import { badCursor, pageQuery, printCursor, readCursor } from '../http/keyset.ts';
import { frame, problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import type { Announcements } from './announcements.ts';
import {
  documentId,
  documentName,
  documentPage,
  documentView,
  instant,
  newDocument,
  withContent,
} from './answers.ts';
import {
  bringBack,
  createDocument,
  removeAndAnnounce,
  rename,
  showDocument,
  showDocuments,
} from './documents.ts';
import { eventRoutes } from './event-routes.ts';
import { ifMatch, tagOf } from './expectation.ts';
import { grantRoutes } from './grant-routes.ts';
import {
  contentProblem,
  deniedKinds,
  deniedProblem,
  kinds,
  readDenied,
  readKinds,
} from './problems.ts';
import { revisionRoutes } from './revision-routes.ts';
import { type SaveRoutesOptions, saveRoutes } from './save-routes.ts';

export interface DocumentRoutesOptions extends SaveRoutesOptions {
  readonly announcements: Pick<Announcements, 'watch'>;
}

const params = z.strictObject({ id: documentId });
/** Postgres has no year 0. */
const createdAt = instant.refine((text) => !text.startsWith('0000'));
const place = z.strictObject({ createdAt, id: documentId });

export function documentRoutes(options: DocumentRoutesOptions): readonly Route[] {
  const { database, announcements } = options;

  const create = route({
    method: 'post',
    path: '/v1/documents',
    scope: 'documents:write',
    operation: 'createDocument',
    summary: 'Create a document',
    description: 'With an id of yours it may be sent again: the same one is answered with 200.',
    body: newDocument,
    mostBytes: largestBody,
    exact: true,
    answers: { 201: documentView, 200: documentView },
    problems: [kinds.taken, kinds.invalidContent],
    idempotent: true,
  }).handle(async ({ tx, body, principal, textOf }) => {
    const { id, ...given } = body;
    const text = textOf('content');
    const made = await createDocument(tx, {
      ...given,
      actor: principal.sub,
      ...(id !== undefined && { id }),
      ...(text !== undefined && { text }),
    });
    if (made.outcome === 'invalid') return contentProblem(made.problems);
    if (made.outcome === 'taken') return problem(kinds.taken, 'Choose another id.');
    const { document } = made;
    const headers = { ETag: tagOf(document.version) };
    const location = `/v1/documents/${document.id}`;
    return { status: made.outcome === 'created' ? 201 : 200, body: document, headers, location };
  });

  const list = route({
    method: 'get',
    path: '/v1/documents',
    scope: 'documents:read',
    operation: 'listDocuments',
    summary: 'List the documents that you own or that were shared with you',
    query: z.strictObject({
      ...pageQuery,
      deleted: z
        .stringbool()
        .default(false)
        .meta({ description: 'Those that were deleted, instead of those that are there' }),
    }),
    answers: { 200: documentPage },
    problems: [frame.invalidQuery],
  }).handle(async ({ query: { cursor, limit, deleted }, principal }) => {
    const behind = cursor === undefined ? undefined : readCursor(cursor, { deleted }, place);
    if (cursor !== undefined && behind === undefined) return badCursor();
    const asked = { actor: principal.sub, limit, deleted, ...(behind && { behind }) };
    const page = await showDocuments(database.db, asked);
    const next = page.next === null ? null : printCursor({ deleted }, page.next);
    return { status: 200, body: { items: [...page.documents], next } };
  });

  const show = route({
    method: 'get',
    path: '/v1/documents/{id}',
    scope: 'documents:read',
    operation: 'getDocument',
    summary: 'Read a document',
    params,
    answers: { 200: documentView },
    problems: readKinds,
  }).handle(async ({ params: { id }, principal }) => {
    const read = await showDocument(database.db, { id, actor: principal.sub });
    if (read.outcome !== 'read') return readDenied(read);
    const headers = { ETag: tagOf(read.document.version) };
    return { status: 200, text: withContent(read.document, read.text), headers };
  });

  const remove = route({
    method: 'delete',
    path: '/v1/documents/{id}',
    scope: 'documents:write',
    operation: 'deleteDocument',
    summary: 'Delete a document; with If-Match, only while it is at that version',
    params,
    headers: ifMatch,
    answers: { 200: params },
    problems: [...deniedKinds, kinds.moved],
  }).handle(async ({ params: { id }, headers, principal }) => {
    const expected = headers['if-match'];
    const deleted = await removeAndAnnounce(database, {
      ...{ id, actor: principal.sub },
      ...(expected !== undefined && { version: expected }),
    });
    if (deleted.outcome === 'deleted') return { status: 200, body: { id } };
    if (deleted.outcome !== 'moved') return deniedProblem(deleted);
    const { version: currentVersion } = deleted;
    const detail = `It is at version ${currentVersion}. Nothing was deleted.`;
    return problem(kinds.moved, detail, { members: { currentVersion } });
  });

  const restore = route({
    method: 'post',
    path: '/v1/documents/{id}/restore',
    scope: 'documents:write',
    operation: 'undeleteDocument',
    summary: 'Bring a deleted document back as it was',
    description: 'Takes no Idempotency-Key: sent again it answers the same.',
    params,
    answers: { 200: documentView },
    problems: deniedKinds,
  }).handle(async ({ params: { id }, principal }) => {
    const asked = { id, actor: principal.sub };
    const brought = await bringBack(database, asked);
    if (brought.outcome !== 'there') return deniedProblem(brought);
    const read = await showDocument(database.db, asked);
    if (read.outcome !== 'read') return deniedProblem(read);
    return { status: 200, text: withContent(read.document, read.text) };
  });

  const name = route({
    method: 'put',
    path: '/v1/documents/{id}/name',
    scope: 'documents:write',
    operation: 'renameDocument',
    summary: 'Rename a document; its version stays',
    params,
    body: z.strictObject({ name: documentName }),
    answers: { 200: z.strictObject({ id: documentId, name: documentName }) },
    problems: deniedKinds,
  }).handle(async ({ params: { id }, body, principal }) => {
    const renamed = await rename(database.db, { id, actor: principal.sub, name: body.name });
    if (renamed.outcome !== 'renamed') return deniedProblem(renamed);
    return { status: 200, body: { id, name: body.name } };
  });

  return [
    // Before the route by id, which would take its name for one.
    ...eventRoutes(announcements),
    ...[create, list, show, remove, restore, name],
    ...saveRoutes(options),
    ...revisionRoutes(database),
    ...grantRoutes(database),
  ];
}
