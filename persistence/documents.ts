// Documents themselves: made, read, listed, renamed, deleted and brought back, and who else may use
// them. Their contents change in document-saves.ts only.
//
// - What an actor may not see is not there: each statement judges access by itself.
// - Nothing here touches the content's version. A deleted document keeps everything.

import { type Kysely, sql } from 'kysely';
import { namedStatement } from './named-statement.ts';
import type { Schema } from './schema.ts';

export interface NewDocumentRow {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly owner: string;
  readonly content: string;
  readonly hash: string;
  readonly source: { readonly proposal: string; readonly step: number } | null;
}

const insertStatement = namedStatement<{ id: string }>(
  'document.insert',
  `with made as (
  insert into fencepost.document (id, kind, name, owner, hash, updated_by)
  values ($1, $2, $3, $4, $5, $4) on conflict do nothing returning id, updated_at),
written as (
  insert into fencepost.document_revision
    (document, version, content, hash, author, proposal, step, at)
  select id, 1, $6, $5, $4, $7, $8, updated_at from made)
select id from made`,
);

/** Makes a document, at version 1. Returns false where the id is taken. */
export async function insertDocument(db: Kysely<Schema>, row: NewDocumentRow): Promise<boolean> {
  const { id, kind, name, owner, content, hash, source } = row;
  const rows = await insertStatement(db, [
    ...[id, kind, name, owner, hash, content, source?.proposal ?? null, source?.step ?? null],
  ]);
  return rows.length === 1;
}

/** A document as the actor sees it. */
export interface DocumentRow {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly owner: string;
  readonly access: 'owner' | 'editor' | 'reader';
  readonly version: number;
  readonly hash: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly updated_by: string;
  readonly deleted_at: number | null;
  readonly deleted_by: string | null;
}

const columns = `d.id, d.kind, d.name, d.owner, d.version, d.hash, d.created_at, d.updated_at,
  d.updated_by, d.deleted_at, d.deleted_by`;

const readStatement = namedStatement<DocumentRow & { content: string }>(
  'document.read',
  `select ${columns}, case when d.owner = $2 then 'owner' else g.access end as access, r.content
from fencepost.document d
join fencepost.document_revision r on r.document = d.id and r.version = d.version
left join fencepost.document_grant g on g.document = d.id and g.grantee = $2
where d.id = $1 and (d.owner = $2 or g.access is not null)`,
);

/** Reads a document with its content's text. Undefined where the actor has no such document. */
export async function readDocument(db: Kysely<Schema>, id: string, actor: string) {
  const [row] = await readStatement(db, [id, actor]);
  return row;
}

/** Which kind a document is of, whoever asks. It never changes. */
export async function readKind(db: Kysely<Schema>, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('fencepost.document')
    .select('kind')
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.kind;
}

export interface AccessRow {
  readonly access: 'owner' | 'editor' | 'reader';
  readonly version: number;
  readonly deleted_at: number | null;
  readonly deleted_by: string | null;
}

const accessStatement = namedStatement<AccessRow>(
  'document.access',
  `select case when d.owner = $2 then 'owner' else g.access end as access, d.version,
  d.deleted_at, d.deleted_by
from fencepost.document d
left join fencepost.document_grant g on g.document = d.id and g.grantee = $2
where d.id = $1 and (d.owner = $2 or g.access is not null)`,
);

/** What the actor may do with a document. Undefined where the actor has no such document. */
export async function readAccess(
  db: Kysely<Schema>,
  id: string,
  actor: string,
): Promise<AccessRow | undefined> {
  const [row] = await accessStatement(db, [id, actor]);
  return row;
}

/** A document's place in lists, which never changes. */
export interface Place {
  /** As `printInstant` prints it. */
  readonly createdAt: string;
  readonly id: string;
}

export interface Listed {
  /** What comes behind this one; undefined for the newest. */
  readonly behind: Place | undefined;
  readonly limit: number;
  /** The deleted ones instead of those that are there. */
  readonly deleted: boolean;
}

const listed = `(d.created_at, d.id) < ($2::timestamptz, $3::uuid)
  and case when $4 then d.deleted_at is not null else d.deleted_at is null end`;

const listStatement = namedStatement<DocumentRow>(
  'document.list',
  `select ${columns}, 'owner' as access from fencepost.document d
where d.owner = $1 and ${listed}
union all
select ${columns}, g.access from fencepost.document_grant g
join fencepost.document d on d.id = g.document
where g.grantee = $1 and ${listed}
order by created_at desc, id desc limit $5`,
);

/** Lists what the actor owns or was granted, the newest first, without contents. */
export async function listDocuments(
  db: Kysely<Schema>,
  actor: string,
  { behind, limit, deleted }: Listed,
): Promise<readonly DocumentRow[]> {
  const { createdAt, id } = behind ?? {
    createdAt: 'infinity',
    id: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  };
  return await listStatement(db, [actor, createdAt, id, deleted, limit]);
}

/** Renames a document that is there, where the actor may edit it. Returns whether it did. */
export async function renameDocument(
  db: Kysely<Schema>,
  { id, actor, name }: { id: string; actor: string; name: string },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update fencepost.document d set name = ${name}
    where d.id = ${id} and d.deleted_at is null and (d.owner = ${actor} or exists (
      select from fencepost.document_grant g
      where g.document = d.id and g.grantee = ${actor} and g.access = 'editor'))`.execute(db);
  return numAffectedRows > 0n;
}

/**
 * Deletes a document of the actor's own; with `version`, only while it is at that one.
 * Returns whether it did. Locks the row.
 */
export async function deleteDocument(
  db: Kysely<Schema>,
  { id, actor, version }: { id: string; actor: string; version: number | undefined },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update fencepost.document
    set deleted_at = clock_timestamp(), deleted_by = ${actor}
    where id = ${id} and owner = ${actor} and deleted_at is null
      and (${version ?? null}::int8 is null or version = ${version ?? null}::int8)`.execute(db);
  return numAffectedRows > 0n;
}

/** Brings a deleted document of the actor's own back as it was. Returns whether it did. */
export async function undeleteDocument(
  db: Kysely<Schema>,
  id: string,
  actor: string,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update fencepost.document set deleted_at = null, deleted_by = null
    where id = ${id} and owner = ${actor} and deleted_at is not null`.execute(db);
  return numAffectedRows > 0n;
}

export interface GrantRow {
  readonly grantee: string;
  readonly access: 'reader' | 'editor';
}

/** Lists who else may use a document. The caller has seen that it is the actor's own. */
export async function listGrants(db: Kysely<Schema>, id: string): Promise<readonly GrantRow[]> {
  return await db
    .selectFrom('fencepost.document_grant')
    .select(['grantee', 'access'])
    .where('document', '=', id)
    .orderBy('grantee')
    .execute();
}

/** Grants access, or changes what was granted, where the document is the actor's own. */
export async function putGrant(
  db: Kysely<Schema>,
  given: GrantRow & { readonly id: string; readonly actor: string },
): Promise<boolean> {
  const { id, actor, grantee, access } = given;
  const { numAffectedRows = 0n } = await sql`
    insert into fencepost.document_grant (document, grantee, access, granted_by)
    select d.id, ${grantee}, ${access}, ${actor} from fencepost.document d
    where d.id = ${id} and d.owner = ${actor} and d.deleted_at is null
    on conflict (document, grantee) do update set access = excluded.access,
      granted_by = excluded.granted_by, granted_at = clock_timestamp()`.execute(db);
  return numAffectedRows > 0n;
}

/** Takes a grant away. The caller has seen that the document is the actor's own. */
export async function deleteGrant(db: Kysely<Schema>, id: string, grantee: string): Promise<void> {
  await db
    .deleteFrom('fencepost.document_grant')
    .where('document', '=', id)
    .where('grantee', '=', grantee)
    .execute();
}
