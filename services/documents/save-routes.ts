// The routes that write contents: save, restore an earlier version, abandon.

import { z } from 'zod';
import { largestBody } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import { type Problem, problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import {
  abandonAnswer,
  abandonRequest,
  documentId,
  restoreRequest,
  saveAnswer,
  saveRequest,
  version,
} from './answers.ts';
import { type Expectation, expectationOf, ifMatch, tagOf } from './expectation.ts';
import { conflictProblem, contentProblem, deniedKinds, deniedProblem, kinds } from './problems.ts';
import { restoreVersion } from './revisions.ts';
import { abandon, openSaves, type SaveOutcome } from './save.ts';

const saveKinds = [
  ...deniedKinds,
  ...[kinds.conflict, kinds.stale, kinds.noExpectation, kinds.invalidContent, kinds.reused],
] as const;
type SaveCode = (typeof saveKinds)[number]['code'];

type Fault = Extract<Expectation, { fault: string }>['fault'];

function faultProblem(fault: Fault): Problem<'expectation_required' | 'invalid_content'> {
  if (fault === 'missing') {
    const detail = 'Say which version it was made from: expectedVersion, or If-Match.';
    return problem(kinds.noExpectation, detail);
  }
  const detail = 'If-Match says another version.';
  const errors = [{ code: 'contradiction', pointer: '/expectedVersion', detail }];
  return problem(kinds.invalidContent, 'The request contradicts itself.', { errors });
}

function saveReply(saveId: string, outcome: SaveOutcome, by: 'body' | 'header') {
  switch (outcome.outcome) {
    case 'saved':
    case 'replayed':
    case 'superseded': {
      const { outcome: verdict, ...answer } = outcome;
      const headers = { ETag: tagOf(answer.currentVersion) };
      return { status: 200, body: { saveId, verdict, ...answer }, headers } as const;
    }
    case 'conflict':
      return conflictProblem(by, outcome.conflict) satisfies Problem<SaveCode>;
    case 'reused':
      return problem(kinds.reused, 'A content keeps its save id; another one gets another id.');
    case 'invalid':
      return contentProblem(outcome.problems);
    default:
      return deniedProblem(outcome);
  }
}

const params = z.strictObject({ id: documentId });
const revisionParams = z.strictObject({
  id: documentId,
  version: z.coerce.number().pipe(version),
});

export interface SaveRoutesOptions {
  readonly database: Database;
  /** Told of the verdict on each save. */
  readonly saved?: (verdict: SaveOutcome['outcome'] | 'conflict_unchanged') => void;
}

/** Over the same content nobody else's work was in the way: a client that misreads versions. */
const verdictOf = (outcome: SaveOutcome) =>
  outcome.outcome === 'conflict' && outcome.conflict.contentUnchanged
    ? 'conflict_unchanged'
    : outcome.outcome;

export function saveRoutes({ database, saved }: SaveRoutesOptions): readonly Route[] {
  const saves = openSaves(database);

  const save = route({
    method: 'put',
    path: '/v1/documents/{id}',
    scope: 'documents:write',
    operation: 'saveDocument',
    summary: 'Save a content, made from a version that is said',
    description: 'Send it again with the same save id until it is answered: it counts once.',
    params,
    headers: ifMatch,
    body: saveRequest,
    mostBytes: largestBody,
    exact: true,
    kept: 'content',
    answers: { 200: saveAnswer },
    problems: saveKinds,
  }).handle(async ({ params: { id }, headers, body, principal, textOf }) => {
    const { saveId, writer, expectedVersion, content, after = [] } = body;
    const expected = expectationOf(expectedVersion, headers);
    if (expected.version === undefined) return faultProblem(expected.fault);
    const text = textOf('content');
    const outcome = await saves.save({
      ...{ document: id, actor: principal.sub, base: expected.version, after, content },
      save: { id: saveId, writer },
      ...(text !== undefined && { text }),
    });
    saved?.(verdictOf(outcome));
    return saveReply(saveId, outcome, expected.by);
  });

  const restore = route({
    method: 'post',
    path: '/v1/documents/{id}/revisions/{version}/restore',
    scope: 'documents:write',
    operation: 'restoreRevision',
    summary: 'Save the content of an earlier version as a new one',
    description: 'Takes no Idempotency-Key: it is a save, and its save id counts once.',
    params: revisionParams,
    headers: ifMatch,
    body: restoreRequest,
    answers: { 200: saveAnswer },
    problems: [...saveKinds, kinds.noRevision],
  }).handle(async ({ params: { id, version: from }, headers, body, principal }) => {
    const { saveId, writer, expectedVersion } = body;
    const expected = expectationOf(expectedVersion, headers);
    if (expected.version === undefined) return faultProblem(expected.fault);
    const outcome = await restoreVersion(database, {
      ...{ document: id, actor: principal.sub, base: expected.version, version: from },
      save: { id: saveId, writer },
    });
    if (outcome.outcome === 'no_revision') {
      return problem(kinds.noRevision, `Version ${from} never was, or was thinned out.`);
    }
    return saveReply(saveId, outcome, expected.by);
  });

  const abandonSaves = route({
    method: 'post',
    path: '/v1/documents/{id}/abandon',
    scope: 'documents:write',
    operation: 'abandonSaves',
    summary: 'See to it that unanswered saves cannot take effect any more',
    description: 'Takes no Idempotency-Key: sent again it answers the same.',
    params,
    body: abandonRequest,
    answers: { 200: abandonAnswer },
    problems: [kinds.notFound],
  }).handle(async ({ params: { id }, body, principal }) => {
    const answer = await abandon(database, { document: id, actor: principal.sub, ...body });
    if (answer.outcome === 'missing') {
      return problem(kinds.notFound, `No document of yours has the id ${id}.`);
    }
    const { outcome: _, ...abandoned } = answer;
    return { status: 200, body: abandoned };
  });

  return [save, restore, abandonSaves];
}
