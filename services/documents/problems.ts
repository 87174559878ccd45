// The kinds of problem that documents add, and how an outcome becomes one.

import { z } from 'zod';
import type { ContentProblem } from '../../kinds/kind.ts';
import type { Conflict } from '../../kinds/wire.ts';
import { type Problem, problem, problemKind } from '../http/problem.ts';
import type { Denied } from './access.ts';
import { conflict, instant, version } from './answers.ts';
import { writtenBy } from './source.ts';

export const kinds = {
  notFound: problemKind('document_not_found', 404, 'There is no such document'),
  gone: problemKind('document_gone', 410, 'This document was deleted', {
    deletedAt: instant,
    deletedBy: z.string(),
  }),
  readOnly: problemKind('read_only', 403, 'This document is only to be read'),
  ownerOnly: problemKind('owner_only', 403, 'Only the owner of this document may do that'),
  conflict: problemKind('version_conflict', 409, 'The document went on without this writer', {
    conflict,
  }),
  stale: problemKind('precondition_failed', 412, 'The document went on without this writer', {
    conflict,
  }),
  moved: problemKind('version_moved', 412, 'The document is at another version', {
    currentVersion: version,
  }),
  noExpectation: problemKind('expectation_required', 428, 'It is not said what is expected'),
  invalidContent: problemKind('invalid_content', 422, 'Something in the content is wrong'),
  reused: problemKind('save_id_reused', 422, 'This save id was used for another content'),
  taken: problemKind('document_exists', 409, 'The id is of another document'),
  noRevision: problemKind('revision_not_found', 404, 'There is no such revision'),
  ownDocument: problemKind('own_document', 422, 'The owner needs no grant'),
} as const;

/** What an actor may be told who does not get what was asked for. */
export const deniedKinds = [kinds.notFound, kinds.gone, kinds.readOnly, kinds.ownerOnly] as const;

/** Who may not even read is told nothing else. */
export const readKinds = [kinds.notFound, kinds.gone] as const;

type DeniedCode = (typeof deniedKinds)[number]['code'];

export function deniedProblem(denied: Denied): Problem<DeniedCode> {
  switch (denied.outcome) {
    case 'missing':
      return problem(kinds.notFound, 'No document of yours, or that was shared with you, has it.');
    case 'gone': {
      const { at: deletedAt, by: deletedBy } = denied;
      const detail = 'Its content is kept: who owns it can bring it back.';
      return problem(kinds.gone, detail, { members: { deletedAt, deletedBy } });
    }
    case 'read_only':
      return problem(kinds.readOnly, 'It was shared with you for reading.');
    case 'owner_only':
      return problem(kinds.ownerOnly, 'It was shared with you; deleting and sharing were not.');
    default:
      return denied satisfies never;
  }
}

/** The same for who wanted to read, which is not denied in more ways. */
export const readDenied = (denied: Denied) =>
  deniedProblem(denied) as Problem<(typeof readKinds)[number]['code']>;

/** Pointers are into the request's body, where the content is a member. */
export function contentProblem(found: readonly ContentProblem[]): Problem<'invalid_content'> {
  const errors = found.map((each) => ({
    ...each,
    pointer: each.code === 'after_itself' ? each.pointer : `/content${each.pointer}`,
  }));
  return problem(kinds.invalidContent, 'See errors for what is wrong and where.', { errors });
}

/** The two answers to a stale save: by how it said what it expects. */
export function conflictProblem(
  by: 'body' | 'header',
  found: Conflict,
): Problem<'version_conflict' | 'precondition_failed'> {
  const { version: now, by: who, source } = found;
  const detail = `It is at version ${now}, by ${writtenBy(who, source)}. Nothing was written.`;
  const members = { conflict: found };
  if (by === 'header') return problem(kinds.stale, detail, { members });
  return problem(kinds.conflict, detail, { members });
}
