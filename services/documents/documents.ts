// Documents as people have them: made, read, listed, renamed, deleted and brought back, shared.
//
// - Every function takes the principal who asks. Each outcome that is not what was asked for is a
//   value.
// - Deleting keeps everything: content, revisions, receipts, grants. Bringing back is exact.

import { v7 as newId } from 'uuid';
import type { Json } from '../../kinds/json.ts';
import type { ContentProblem } from '../../kinds/kind.ts';
import type { DocumentSummary, DocumentView, GrantView } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import { documentTopic } from '../../persistence/document-events.ts';
import { readRevision } from '../../persistence/document-revisions.ts';
import {
  type DocumentRow,
  deleteDocument,
  deleteGrant,
  insertDocument,
  listDocuments,
  listGrants,
  type NewDocumentRow,
  type Place,
  putGrant,
  readDocument,
  renameDocument,
  undeleteDocument,
} from '../../persistence/documents.ts';
import { printInstant } from '../../persistence/instant.ts';
import { wake } from '../../persistence/wake.ts';
import { type Asked, type Denied, denial, permit } from './access.ts';
import { checkContent } from './content.ts';

const summaryOf = (row: DocumentRow): DocumentSummary => ({
  id: row.id,
  kind: row.kind,
  name: row.name,
  owner: row.owner,
  access: row.access,
  version: row.version,
  hash: row.hash,
  createdAt: printInstant(row.created_at),
  updatedAt: printInstant(row.updated_at),
  updatedBy: row.updated_by,
  deletedAt: row.deleted_at === null ? null : printInstant(row.deleted_at),
});

export interface Created {
  readonly kind: string;
  readonly name: string;
  readonly content: unknown;
  readonly text?: string;
  readonly id?: string;
  readonly actor: string;
  readonly source?: NewDocumentRow['source'];
}

export type CreateOutcome =
  | { readonly outcome: 'created' | 'replayed'; readonly document: DocumentView }
  | { readonly outcome: 'taken' }
  | { readonly outcome: 'invalid'; readonly problems: readonly ContentProblem[] };

/**
 * Creates a document, at version 1, in the caller's transaction if `db` is one. With an id of the
 * caller's it may be sent again: the same document is then `replayed`, another one `taken`.
 */
export async function createDocument(db: Database['db'], given: Created): Promise<CreateOutcome> {
  const { kind, name, content, text, actor, source = null, id = newId() } = given;
  const checked = checkContent(kind, content, text);
  if (checked.problems) return { outcome: 'invalid', problems: checked.problems };
  const { ready } = checked;
  const row = { id, kind, name, owner: actor, content: ready.text, hash: ready.hash, source };
  const made = await insertDocument(db, row);
  const read = await readDocument(db, id, actor);
  if (!read) return { outcome: 'taken' };
  const document = { ...summaryOf(read), content: JSON.parse(read.content) as Json };
  if (made) return { outcome: 'created', document };
  const first = await readRevision(db, id, 1);
  const isSame = first?.hash === ready.hash && read.kind === kind;
  const isMine = read.access === 'owner' && read.deleted_at === null;
  return isSame && isMine ? { outcome: 'replayed', document } : { outcome: 'taken' };
}

export type ReadOutcome =
  | { readonly outcome: 'read'; readonly document: DocumentSummary; readonly text: string }
  | Denied;

/** Reads a document; its content as the text that was saved. */
export async function showDocument(db: Database['db'], { id, actor }: Asked): Promise<ReadOutcome> {
  const row = await readDocument(db, id, actor);
  const denied = denial(row, 'read');
  if (denied || !row) return denied ?? { outcome: 'missing' };
  return { outcome: 'read', document: summaryOf(row), text: row.content };
}

export interface Listing {
  readonly actor: string;
  readonly behind?: Place;
  readonly limit: number;
  /** The deleted ones instead of those that are there. */
  readonly deleted?: boolean;
}

export interface Listed {
  readonly documents: readonly DocumentSummary[];
  /** Behind this one there are more. */
  readonly next: Place | null;
}

/** Lists what the actor owns or was granted, the newest first. */
export async function showDocuments(
  db: Database['db'],
  { actor, behind, limit, deleted = false }: Listing,
): Promise<Listed> {
  const rows = await listDocuments(db, actor, { behind, limit: limit + 1, deleted });
  const documents = rows.slice(0, limit).map(summaryOf);
  const { createdAt = '', id = '' } = documents.at(-1) ?? {};
  return { documents, next: rows.length > limit ? { createdAt, id } : null };
}

/** Renames a document. The content's version stays. */
export async function rename(
  db: Database['db'],
  asked: Asked & { readonly name: string },
): Promise<{ readonly outcome: 'renamed' } | Denied> {
  if (await renameDocument(db, asked)) return { outcome: 'renamed' };
  const answer = await permit(db, asked, 'edit');
  // It was deleted or taken away, and given back between the two statements: once more.
  return answer.outcome === 'permitted' ? await rename(db, asked) : answer;
}

export type DeleteOutcome =
  | { readonly outcome: 'deleted' }
  | { readonly outcome: 'moved'; readonly version: number }
  | Denied;

/** Deletes a document; with `version` only while it is at that one. Deleting again is `gone`. */
export async function remove(
  db: Database['db'],
  asked: Asked & { readonly version?: number },
): Promise<DeleteOutcome> {
  const { id, actor, version } = asked;
  if (await deleteDocument(db, { id, actor, version })) return { outcome: 'deleted' };
  const answer = await permit(db, asked, 'own');
  return answer.outcome === 'permitted' ? { outcome: 'moved', version: answer.version } : answer;
}

/** The same on its own, announced to whoever has the document open. */
export async function removeAndAnnounce(
  database: Database,
  asked: Asked & { readonly version?: number },
): Promise<DeleteOutcome> {
  const outcome = await remove(database.db, asked);
  if (outcome.outcome === 'deleted') wake(database, documentTopic);
  return outcome;
}

/** Brings a deleted document of the actor's own back. Returns whether there was one. */
export const undelete = (db: Database['db'], { id, actor }: Asked): Promise<boolean> =>
  undeleteDocument(db, id, actor);

/**
 * Brings a deleted document back as it was, and announces it. One that is there stays as it is.
 */
export async function bringBack(
  database: Database,
  { id, actor }: Asked,
): Promise<{ readonly outcome: 'there' } | Exclude<Denied, { outcome: 'gone' }>> {
  const { db } = database;
  if (await undeleteDocument(db, id, actor)) {
    wake(database, documentTopic);
    return { outcome: 'there' };
  }
  const answer = await permit(db, { id, actor }, 'own');
  if (answer.outcome === 'permitted') return { outcome: 'there' };
  // Gone, and not brought back: it is another's, who alone may do that.
  return answer.outcome === 'gone' ? { outcome: 'owner_only' } : answer;
}

export type GrantsOutcome =
  | { readonly outcome: 'granted'; readonly grants: readonly GrantView[] }
  | { readonly outcome: 'own_document' }
  | Denied;

/** Lists who else may use a document of the actor's own. */
export async function showGrants(db: Database['db'], asked: Asked): Promise<GrantsOutcome> {
  const answer = await permit(db, asked, 'own');
  if (answer.outcome !== 'permitted') return answer;
  return { outcome: 'granted', grants: await listGrants(db, asked.id) };
}

/** Grants access to somebody, or changes it. */
export async function grant(db: Database['db'], asked: Asked & GrantView): Promise<GrantsOutcome> {
  const answer = await permit(db, asked, 'own');
  if (answer.outcome !== 'permitted') return answer;
  if (asked.grantee === asked.actor) return { outcome: 'own_document' };
  await putGrant(db, asked);
  return await showGrants(db, asked);
}

/** Takes access away from somebody. Whoever has none keeps having none. */
export async function revoke(
  db: Database['db'],
  asked: Asked & { readonly grantee: string },
): Promise<GrantsOutcome> {
  const answer = await permit(db, asked, 'own');
  if (answer.outcome !== 'permitted') return answer;
  await deleteGrant(db, asked.id, asked.grantee);
  return await showGrants(db, asked);
}
