// The compare-and-swap of documents, its receipts, and what a save that did not win is told.
//
// - One statement is the whole save: the swap, the revision, the receipt, and the tombstones of the
//   saves that it overtakes. Outside of a transaction it is one round trip.
// - The condition is on the row itself: after a wait for its lock, only the row is read again.
//   Source: PostgreSQL manual, 13.2.1 Read Committed Isolation Level.
// - A save id takes effect once. The receipts' key sees to that: where the id is known, committed
//   or overtaken, the statement fails as a whole and the verdict is looked up.
// - The look-up is a statement of its own: within the first one it would see the old snapshot.
// - Whoever writes receipts of a document holds its row, so that no two wait for each other.

import { type Kysely, sql } from 'kysely';
import { namedStatement } from './named-statement.ts';
import type { Schema } from './schema.ts';
import { sqlstate, sqlstateOf } from './sqlstate.ts';
import type { Tx } from './transaction.ts';

export interface Swap {
  readonly document: string;
  readonly actor: string;
  /** The version that the content was made from. */
  readonly base: number;
  /** Saves of this writer since the base, all of which the content contains. */
  readonly after: readonly string[];
  /** Null where no receipt is wanted: a plan's step has its own. */
  readonly save: { readonly id: string; readonly writer: string } | null;
  readonly content: string;
  readonly hash: string;
  readonly source: { readonly proposal: string; readonly step: number } | null;
  readonly restoredFrom: number | null;
}

export interface Swapped {
  readonly version: number;
  readonly at: number;
}

const swapStatement = namedStatement<Swapped>(
  'document.swap',
  `with moved as (
  update fencepost.document d set version = d.version + 1, hash = $7, last_save = $5,
    last_writer = $6, updated_at = clock_timestamp(), updated_by = $2
  where d.id = $1 and d.deleted_at is null
    and (d.version = $3 or (d.last_save = any($4::uuid[]) and d.last_writer = $6))
    and (d.owner = $2 or exists (select from fencepost.document_grant g
      where g.document = d.id and g.grantee = $2 and g.access = 'editor'))
  returning d.id, d.version, d.updated_at),
written as (
  insert into fencepost.document_revision
    (document, version, content, hash, author, writer, save, proposal, step, restored_from, at)
  select id, version, $8, $7, $2, $6, $5, $9, $10, $11, updated_at from moved),
receipts as (
  insert into fencepost.document_save (document, writer, save, version, hash, at)
  select id, $6, $5, version, $7, updated_at from moved where $5::uuid is not null),
overtaken as (
  insert into fencepost.document_save (document, writer, save, at)
  select m.id, $6, a.save, m.updated_at from moved m, unnest($4::uuid[]) as a(save)
  on conflict do nothing)
select version, updated_at as at from moved`,
);

/**
 * Swaps the content if the document is at the base, or at a version that one of `after` made, and
 * the actor may edit it. Locks the document's row.
 * @returns the new version; undefined where it did not fit, or the save id is known.
 */
export async function swapContent(db: Kysely<Schema>, swap: Swap): Promise<Swapped | undefined> {
  const { document, actor, base, after, save, content, hash, source, restoredFrom } = swap;
  try {
    const [swapped] = await swapStatement(db, [
      ...[document, actor, base, after, save?.id ?? null, save?.writer ?? null, hash, content],
      ...[source?.proposal ?? null, source?.step ?? null, restoredFrom],
    ]);
    return swapped;
  } catch (error) {
    if (sqlstateOf(error) === sqlstate.uniqueViolation) return undefined;
    throw error;
  }
}

/** A document as a save finds it that did not win. */
export interface Found {
  readonly kind: string;
  readonly version: number;
  readonly hash: string;
  readonly updated_at: number;
  readonly updated_by: string;
  readonly last_save: string | null;
  readonly last_writer: string | null;
  readonly deleted_at: number | null;
  readonly deleted_by: string | null;
  readonly access: 'owner' | 'editor' | 'reader';
  /** The save id was used by this writer: its version is null where it was overtaken. */
  readonly known: boolean;
  readonly saved_version: number | null;
  readonly saved_hash: string | null;
  /** Null where the base's revision is not there any more, or never was. */
  readonly base_hash: string | null;
  /** The plan and the step that wrote the current version; null where a person did. */
  readonly proposal: string | null;
  readonly step: number | null;
}

const findStatement = namedStatement<Found>(
  'document.find',
  `select d.kind, d.version, d.hash, d.updated_at, d.updated_by, d.last_save, d.last_writer,
  d.deleted_at, d.deleted_by, case when d.owner = $2 then 'owner' else g.access end as access,
  s.save is not null as known, s.version as saved_version, s.hash as saved_hash,
  b.hash as base_hash, c.proposal, c.step
from fencepost.document d
left join fencepost.document_grant g on g.document = d.id and g.grantee = $2
left join fencepost.document_save s on s.document = d.id and s.writer = $4 and s.save = $3
left join fencepost.document_revision b on b.document = d.id and b.version = $5
left join fencepost.document_revision c on c.document = d.id and c.version = d.version
where d.id = $1 and (d.owner = $2 or g.access is not null)`,
);

/** Looks up what became of a save. Undefined where the actor has no such document. */
export async function findForSave(
  db: Kysely<Schema>,
  swap: Pick<Swap, 'document' | 'actor' | 'base' | 'save'>,
): Promise<Found | undefined> {
  const { document, actor, base, save } = swap;
  const values = [document, actor, save?.id ?? null, save?.writer ?? null, base];
  const [found] = await findStatement(db, values);
  return found;
}

export interface KnownSave {
  readonly save: string;
  readonly version: number | null;
}

/**
 * Records save ids of a writer that are not known yet as overtaken, so that they never take effect.
 * @returns what is known of each afterwards; undefined where the actor has no such document.
 */
export async function overtake(
  tx: Tx,
  given: { document: string; actor: string; writer: string; saves: readonly string[] },
): Promise<readonly KnownSave[] | undefined> {
  const { document, actor, writer, saves } = given;
  const { rows } = await sql`
    select from fencepost.document d
    where d.id = ${document} and (d.owner = ${actor} or exists (
      select from fencepost.document_grant g where g.document = d.id and g.grantee = ${actor}))
    for no key update`.execute(tx);
  if (rows.length === 0) return undefined;
  await sql`
    insert into fencepost.document_save (document, writer, save)
    select ${document}::uuid, ${writer}::uuid, a.save from unnest(${saves}::uuid[]) as a(save)
    on conflict do nothing`.execute(tx);
  return await tx
    .selectFrom('fencepost.document_save')
    .select(['save', 'version'])
    .where('document', '=', document)
    .where('writer', '=', writer)
    .where(sql<boolean>`save = any(${saves}::uuid[])`)
    .execute();
}

/** Deletes receipts that are older, oldest first. Returns how many. */
export async function deleteOldReceipts(
  tx: Tx,
  { olderThanMs, limit }: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from fencepost.document_save where ctid = any(array(
      select ctid from fencepost.document_save
      where at < statement_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
      order by at limit ${limit} for update skip locked))`.execute(tx);
  return Number(numAffectedRows);
}
