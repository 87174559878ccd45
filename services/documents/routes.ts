// The documents' HTTP API. Saves are in save-routes.ts, what happens to documents is announced by
// event-routes.ts.

import { z } from 'zod';
import { largestBody } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import { problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import {
  documentId,
  documentName,
  documentPage,
  documentView,
  grants,
  line,
  newDocument,
  revisionPage,
  revisionView,
  version,
} from './answers.ts';
import {
  bringBack,
  createDocument,
  grant,
  removeAndAnnounce,
  rename,
  revoke,
  showDocument,
  showDocuments,
  showGrants,
} from './documents.ts';
import { ifMatch, tagOf } from './expectation.ts';
import { contentProblem, deniedKinds, deniedProblem, kinds } from './problems.ts';
import { nameVersion, showRevision, showRevisions } from './revisions.ts';
import { saveRoutes } from './save-routes.ts';

export interface DocumentRoutesOptions {
  readonly database: Database;
}

const params = z.strictObject({ id: documentId });
const revisionParams = params.extend({ version: z.coerce.number().pipe(version) });
const pageLimit = z.coerce.number().int().min(1).max(100).default(50);
const readKinds = [kinds.notFound, kinds.gone] as const;
const noRevision = (asked: number) =>
  problem(kinds.noRevision, `Version ${asked} never was, or was thinned out.`);

/** Puts the kept text of a content behind the other members, without reading it. */
const withContent = (view: object, text: string): string =>
  `${JSON.stringify(view).slice(0, -1)},"content":${text}}`;

export function documentRoutes({ database }: DocumentRoutesOptions): readonly Route[] {
  const { db } = database;

  const create = route({
    method: 'post',
    path: '/v1/documents',
    scope: 'documents:write',
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
    summary: 'List the documents that you own or that were shared with you',
    query: z.strictObject({
      before: documentId.optional(),
      limit: pageLimit,
      deleted: z.stringbool().default(false),
    }),
    answers: { 200: documentPage },
  }).handle(async ({ query: { before, ...rest }, principal }) => {
    const asked = { actor: principal.sub, ...rest, ...(before !== undefined && { before }) };
    return { status: 200, body: await showDocuments(db, asked) };
  });

  const show = route({
    method: 'get',
    path: '/v1/documents/{id}',
    scope: 'documents:read',
    summary: 'Read a document',
    params,
    answers: { 200: documentView },
    problems: readKinds,
  }).handle(async ({ params: { id }, principal }) => {
    const read = await showDocument(db, { id, actor: principal.sub });
    if (read.outcome !== 'read') return deniedProblem(read) as ReadDenied;
    const headers = { ETag: tagOf(read.document.version) };
    return { status: 200, text: withContent(read.document, read.text), headers };
  });

  const remove = route({
    method: 'delete',
    path: '/v1/documents/{id}',
    scope: 'documents:write',
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
    summary: 'Bring a deleted document back as it was',
    description: 'Takes no Idempotency-Key: sent again it answers the same.',
    params,
    answers: { 200: documentView },
    problems: deniedKinds,
  }).handle(async ({ params: { id }, principal }) => {
    const asked = { id, actor: principal.sub };
    const brought = await bringBack(database, asked);
    if (brought.outcome !== 'there') return deniedProblem(brought);
    const read = await showDocument(db, asked);
    if (read.outcome !== 'read') return deniedProblem(read);
    return { status: 200, text: withContent(read.document, read.text) };
  });

  const name = route({
    method: 'put',
    path: '/v1/documents/{id}/name',
    scope: 'documents:write',
    summary: 'Rename a document; its version stays',
    params,
    body: z.strictObject({ name: documentName }),
    answers: { 200: z.strictObject({ id: documentId, name: documentName }) },
    problems: deniedKinds,
  }).handle(async ({ params: { id }, body, principal }) => {
    const renamed = await rename(db, { id, actor: principal.sub, name: body.name });
    if (renamed.outcome !== 'renamed') return deniedProblem(renamed);
    return { status: 200, body: { id, name: body.name } };
  });

  const revisions = route({
    method: 'get',
    path: '/v1/documents/{id}/revisions',
    scope: 'documents:read',
    summary: 'List the versions of a document, newest first',
    params,
    query: z.strictObject({
      before: z.coerce.number().pipe(version).optional(),
      limit: pageLimit,
    }),
    answers: { 200: revisionPage },
    problems: readKinds,
  }).handle(async ({ params: { id }, query: { before, limit }, principal }) => {
    const page = { id, actor: principal.sub, limit, ...(before !== undefined && { before }) };
    const read = await showRevisions(db, page);
    if (read.outcome !== 'read') return deniedProblem(read) as ReadDenied;
    return { status: 200, body: { revisions: read.revisions, next: read.next } };
  });

  const revision = route({
    method: 'get',
    path: '/v1/documents/{id}/revisions/{version}',
    scope: 'documents:read',
    summary: 'Read a version of a document',
    params: revisionParams,
    answers: { 200: revisionView },
    problems: [...readKinds, kinds.noRevision],
  }).handle(async ({ params: { id, version: asked }, principal }) => {
    const read = await showRevision(db, { id, actor: principal.sub, version: asked });
    if (read.outcome === 'no_revision') return noRevision(asked);
    if (read.outcome !== 'read') return deniedProblem(read) as ReadDenied;
    return { status: 200, text: withContent(read.revision, read.text) };
  });

  const revisionName = z.strictObject({ name: line(200).nullable() });
  const nameRevision = route({
    method: 'put',
    path: '/v1/documents/{id}/revisions/{version}/name',
    scope: 'documents:write',
    summary: 'Name a version, which is then kept for good; null takes the name away',
    params: revisionParams,
    body: revisionName,
    answers: { 200: revisionName.extend({ version }) },
    problems: [...deniedKinds, kinds.noRevision],
  }).handle(async ({ params: { id, version: asked }, body, principal }) => {
    const given = { id, actor: principal.sub, version: asked, name: body.name };
    const named = await nameVersion(db, given);
    if (named.outcome === 'no_revision') return noRevision(asked);
    if (named.outcome !== 'named') return deniedProblem(named);
    return { status: 200, body: { version: asked, name: body.name } };
  });

  const sharing = grantRoutes(database);
  const kept = [create, list, show, remove, restore, name, revisions, revision, nameRevision];
  return [...kept, ...saveRoutes(database), ...sharing];
}

/** Who may not even read is told nothing else. */
type ReadDenied = ReturnType<typeof problem<(typeof readKinds)[number]['code']>>;

const grantee = line(255);
const granteeParams = params.extend({ grantee });

function grantRoutes({ db }: Database): readonly Route[] {
  const list = route({
    method: 'get',
    path: '/v1/documents/{id}/grants',
    scope: 'documents:read',
    summary: 'See with whom a document of yours is shared',
    params,
    answers: { 200: grants },
    problems: [...deniedKinds, kinds.ownDocument],
  }).handle(async ({ params: { id }, principal }) =>
    granted(await showGrants(db, { id, actor: principal.sub })),
  );

  const put = route({
    method: 'put',
    path: '/v1/documents/{id}/grants/{grantee}',
    scope: 'documents:write',
    summary: 'Share a document with somebody, for reading or for editing',
    params: granteeParams,
    body: z.strictObject({ access: z.enum(['reader', 'editor']) }),
    answers: { 200: grants },
    problems: [...deniedKinds, kinds.ownDocument],
  }).handle(async ({ params: { id, grantee: who }, body, principal }) =>
    granted(await grant(db, { id, actor: principal.sub, grantee: who, access: body.access })),
  );

  const remove = route({
    method: 'delete',
    path: '/v1/documents/{id}/grants/{grantee}',
    scope: 'documents:write',
    summary: 'Stop sharing a document with somebody',
    params: granteeParams,
    answers: { 200: grants },
    problems: [...deniedKinds, kinds.ownDocument],
  }).handle(async ({ params: { id, grantee: who }, principal }) =>
    granted(await revoke(db, { id, actor: principal.sub, grantee: who })),
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
