// The routes to operations: list them, look at one with all that happened to it and what may be
// done with it, follow it, and take one back that was not issued.

import { z } from 'zod';
import type { Database } from '../../persistence/database.ts';
import { badCursor, pageOf, pageQuery, printCursor, readCursor } from '../http/keyset.ts';
import { frame, problem } from '../http/problem.ts';
import { eventRoute, type Route, route } from '../http/route.ts';
import {
  endAnswer,
  entryAnswer,
  listedAnswer,
  listedOperation,
  operationAction,
  operationAnswer,
  operationEnd,
  operationEntry,
  operationId,
  operationStatus,
  operationView,
  requested,
} from './answers.ts';
import { kinds } from './problems.ts';
import { findOperation, followOperation, pageOfOperations } from './read.ts';
import { cancelOperation } from './request.ts';

export interface OperationRoutesOptions {
  readonly database: Database;
  /** How long a stream waits where nothing happened before it looks again. */
  readonly pauseMs?: number;
}

const usualPauseMs = 1000;
const largestInt = 2_147_483_647;
const params = z.strictObject({ id: operationId });
const position = z.strictObject({ before: z.uuid() });
const missing = (id: string) => problem(kinds.operationNotFound, `No operation has the id ${id}.`);

const query = z.strictObject({
  status: operationStatus.optional(),
  action: operationAction.optional(),
  branch: z
    .string()
    .min(1)
    .max(1000)
    .refine((text) => !text.includes('\u0000'), 'No branch has NUL in its name')
    .optional(),
  ...pageQuery,
});

/** The seq that an id of an event is; undefined if it is none. */
function seqOf(id: string): number | undefined {
  const seq = Number(id);
  return /^\d{1,10}$/.test(id) && seq <= largestInt ? seq : undefined;
}

export function operationRoutes(options: OperationRoutesOptions): readonly Route[] {
  const { database, pauseMs = usualPauseMs } = options;

  const list = route({
    method: 'get',
    path: '/v1/operations',
    scope: 'operations:read',
    operation: 'listOperations',
    summary: 'List operations, newest first',
    query,
    answers: { 200: pageOf(listedOperation).meta({ id: 'OperationPage' }) },
    problems: [frame.invalidQuery],
  }).handle(async ({ query: { limit, cursor, ...filter } }) => {
    const read = cursor === undefined ? undefined : readCursor(cursor, filter, position);
    if (cursor !== undefined && read === undefined) return badCursor();
    const { branch: target, status, action } = filter;
    const page = { target, status, action, limit, before: read?.before };
    const { rows, next } = await pageOfOperations(database, page);
    const cursorOfNext = next === undefined ? null : printCursor(filter, { before: next });
    return { status: 200, body: { items: rows.map(listedAnswer), next: cursorOfNext } };
  });

  const show = route({
    method: 'get',
    path: '/v1/operations/{id}',
    scope: 'operations:read',
    operation: 'getOperation',
    summary: 'Look at an operation, what happened to it, and what may be done with it',
    params,
    answers: { 200: operationView },
    problems: [kinds.operationNotFound],
  }).handle(async ({ params: { id }, principal }) => {
    const found = await findOperation(database, id);
    return found ? { status: 200, body: operationAnswer(found, principal) } : missing(id);
  });

  const cancel = route({
    method: 'post',
    path: '/v1/operations/{id}/cancel',
    scope: 'operations:write',
    operation: 'cancelOperation',
    summary: 'Take an operation back of which nothing was issued',
    params,
    answers: { 200: requested },
    problems: [kinds.operationNotFound, kinds.notCancelable],
    idempotent: true,
  }).handle(async ({ tx, params: { id }, principal }) => {
    const outcome = await cancelOperation(tx, id, principal.sub);
    switch (outcome.outcome) {
      case 'canceled':
        return { status: 200, body: { id, status: 'canceled' } };
      case 'missing':
        return missing(id);
      case 'refused': {
        const { status, because } = outcome;
        const isIssued = status === 'running';
        const detail = isIssued
          ? 'The provider was asked, or was about to be. What runs there is not ours to stop.'
          : `It has ended: it is "${status}".`;
        const members = { operationStatus: status, because: [...because] };
        return problem(kinds.notCancelable, detail, { members });
      }
      default:
        return outcome satisfies never;
    }
  });

  const events = eventRoute({
    path: '/v1/operations/{id}/events',
    scope: 'operations:read',
    operation: 'followOperation',
    summary: 'Follow the transitions of an operation from the first one on, to its end',
    description:
      'The id of an event is its `seq`. The last event is `ended`, which comes again to who ' +
      'comes back behind it; then the stream ends. Close an EventSource there, or it asks again.',
    params,
    events: { transition: operationEntry, ended: operationEnd },
    problems: [kinds.operationNotFound, kinds.unknownEvent],
  }).handle(async ({ params: { id }, lastEventId, signal }) => {
    const after = seqOf(lastEventId ?? '0');
    if (after === undefined) {
      return problem(kinds.unknownEvent, 'Last-Event-ID is no seq of this operation.');
    }
    if (!(await findOperation(database, id))) return missing(id);
    const followed = followOperation(database, { id, after, signal, pauseMs });
    return (async function* () {
      for await (const each of followed) {
        if ('ended' in each) yield { event: 'ended' as const, data: endAnswer(each.ended) };
        else {
          const { entry } = each;
          const data = entryAnswer(entry);
          yield { event: 'transition' as const, data, id: String(entry.seq) };
        }
      }
    })();
  });

  return [list, show, cancel, events];
}
