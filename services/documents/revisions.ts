// The history of a document: every version until it is thinned, named or brought back as a new one.

import type { RevisionSummary } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import { documentTopic } from '../../persistence/document-events.ts';
import {
  listRevisions,
  nameRevision,
  type RevisionRow,
  readRevision,
} from '../../persistence/document-revisions.ts';
import { printInstant } from '../../persistence/instant.ts';
import { wake } from '../../persistence/wake.ts';
import { type Asked, type Denied, permit } from './access.ts';
import { type Save, type SaveOutcome, swapOrJudge } from './save.ts';
import { sourceOf } from './source.ts';

const summaryOf = (row: RevisionRow): RevisionSummary => ({
  version: row.version,
  at: printInstant(row.at),
  by: row.author,
  saveId: row.save,
  writer: row.writer,
  source: sourceOf(row),
  hash: row.hash,
  name: row.name,
  restoredFrom: row.restored_from,
});

type NoRevision = { readonly outcome: 'no_revision' };

export interface RevisionPage extends Asked {
  readonly before?: number;
  readonly limit: number;
}

export type RevisionsOutcome =
  | {
      readonly outcome: 'read';
      readonly revisions: readonly RevisionSummary[];
      /** The next page begins before this version. */
      readonly next: number | null;
    }
  | Denied;

/** Lists revisions, newest first. */
export async function showRevisions(
  db: Database['db'],
  { before, limit, ...asked }: RevisionPage,
): Promise<RevisionsOutcome> {
  const answer = await permit(db, asked, 'read');
  if (answer.outcome !== 'permitted') return answer;
  const rows = await listRevisions(db, asked.id, { before, limit: limit + 1 });
  const revisions = rows.slice(0, limit).map(summaryOf);
  const next = rows.length > limit ? (revisions.at(-1)?.version ?? null) : null;
  return { outcome: 'read', revisions, next };
}

export type RevisionOutcome =
  | { readonly outcome: 'read'; readonly revision: RevisionSummary; readonly text: string }
  | NoRevision
  | Denied;

/** Reads a revision; its content as the text that was saved. */
export async function showRevision(
  db: Database['db'],
  { version, ...asked }: Asked & { readonly version: number },
): Promise<RevisionOutcome> {
  const answer = await permit(db, asked, 'read');
  if (answer.outcome !== 'permitted') return answer;
  const row = await readRevision(db, asked.id, version);
  if (!row) return { outcome: 'no_revision' };
  return { outcome: 'read', revision: summaryOf(row), text: row.content };
}

/** Names a revision, which is then kept for good; null takes the name away. */
export async function nameVersion(
  db: Database['db'],
  { version, name, ...asked }: Asked & { readonly version: number; readonly name: string | null },
): Promise<{ readonly outcome: 'named' } | NoRevision | Denied> {
  const answer = await permit(db, asked, 'edit');
  if (answer.outcome !== 'permitted') return answer;
  const done = await nameRevision(db, { document: asked.id, version, name });
  return { outcome: done ? 'named' : 'no_revision' };
}

export type Restore = Pick<Save, 'document' | 'actor' | 'base' | 'save'> & {
  readonly version: number;
};

/** Saves the content of an earlier version as a new one, by the same compare-and-swap. */
export async function restoreVersion(
  database: Database,
  { version, ...save }: Restore,
): Promise<SaveOutcome | NoRevision> {
  const { db } = database;
  const answer = await permit(db, { id: save.document, actor: save.actor }, 'edit');
  if (answer.outcome !== 'permitted') return answer;
  const row = await readRevision(db, save.document, version);
  if (!row) return { outcome: 'no_revision' };
  const { content, hash } = row;
  const swap = { ...save, after: [], content, hash, source: null, restoredFrom: version };
  const outcome = await swapOrJudge(db, swap);
  if (outcome.outcome === 'saved') wake(database, documentTopic);
  return outcome;
}
