// Documents for tests: made, saved, and their history read back and judged.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { record } from '../../kinds/record.ts';
import type { Database } from '../../persistence/database.ts';
import { createDocument } from '../../services/documents/documents.ts';
import type { Save, SaveOutcome } from '../../services/documents/save.ts';

/** A record with one attribute, whose text stands for all that was ever typed. */
export const typed = (text: string) => ({ attributes: { text } });

/** Makes a record of ada's, or of whoever is named. */
export async function newDocument(
  { db }: Database,
  { owner = 'ada', text = '' }: { readonly owner?: string; readonly text?: string } = {},
): Promise<string> {
  const given = { kind: record.id, name: 'notes', content: typed(text), actor: owner };
  const created = await createDocument(db, given);
  if (created.outcome !== 'created') throw new Error(created.outcome);
  return created.document.id;
}

/** A writer of a document: mints saves of its own. */
export function writerOf(document: string, actor = 'ada') {
  const writer = randomUUID();
  return {
    writer,
    save: (
      base: number,
      text: string,
      more: Partial<Omit<Save, 'save'>> & { readonly id?: string } = {},
    ): Save & { readonly save: { readonly id: string; readonly writer: string } } => {
      const { id = randomUUID(), ...rest } = more;
      return { document, actor, base, save: { id, writer }, content: typed(text), ...rest };
    },
  };
}

/** Grants access, as the owner ada. */
export async function grantTo(
  { db }: Database,
  document: string,
  grantee: string,
  access: 'reader' | 'editor',
): Promise<void> {
  await db
    .insertInto('fencepost.document_grant')
    .values({ document, grantee, access, granted_by: 'ada' })
    .execute();
}

/** What was typed into the document, as it stands. */
export async function textOf(database: Database, document: string): Promise<string> {
  const revisions = await revisionsOf(database, document);
  return revisions.at(-1)?.text ?? '';
}

export async function revisionsOf({ db }: Database, document: string) {
  const rows = await db
    .selectFrom('fencepost.document_revision')
    .select(['version', 'save', 'writer', 'content', 'hash', 'restored_from'])
    .where('document', '=', document)
    .orderBy('version')
    .execute();
  return rows.map(({ content, ...row }) => ({
    ...row,
    text: String(JSON.parse(content).attributes.text),
  }));
}

/**
 * What is wrong with a document's history: every version is one generation, is what its receipt
 * says, and no save made two.
 */
export async function historyFindings(
  { db }: Database,
  document: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{ finding: string }>`
    with r as (select * from fencepost.document_revision where document = ${document}),
      s as (select * from fencepost.document_save where document = ${document}),
      d as (select * from fencepost.document where id = ${document})
    select 'a version is missing' as finding from r
      having count(*) <> max(version) or min(version) <> 1
    union all select 'the document is at another version than its history' from d
      where version <> (select max(version) from r)
    union all select 'the newest revision is not what the document says' from d
      join r using (version) where (d.hash, d.last_save, d.last_writer)
        is distinct from (r.hash, r.save, r.writer)
    union all select 'version ' || version || ' has no receipt' from r
      where save is not null and not exists (select from s
        where s.save = r.save and s.writer = r.writer and s.version = r.version
          and s.hash = r.hash)
    union all select 'save ' || save || ' made two versions' from r
      where save is not null group by writer, save having count(*) > 1
    union all select 'receipt ' || save || ' is of no version' from s
      where version is not null and not exists (select from r where r.version = s.version
        and r.save = s.save)`.execute(db);
  return rows.map(({ finding }) => finding);
}

/** The short form of an outcome: `saved 2`, `superseded null of 3`, `conflict with 4`. */
export function told(outcome: SaveOutcome): string {
  switch (outcome.outcome) {
    case 'saved':
    case 'replayed':
    case 'superseded':
      return `${outcome.outcome} ${outcome.version} of ${outcome.currentVersion}`;
    case 'conflict':
      return `conflict with ${outcome.conflict.version}`;
    default:
      return outcome.outcome;
  }
}
