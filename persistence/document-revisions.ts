// The versions of a document: listed, read, named, and thinned as they grow old.
//
// - Thinned in two stages, each of which looks at a revision once: after the first age one an hour
//   stays, after the second one a day; the last of each. What was named or restored stays always.
// - The newest is never deleted: only what has a later one beside it goes.

import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';
import type { Tx } from './transaction.ts';

const summary = [
  ...['version', 'at', 'author', 'writer', 'save', 'proposal', 'step', 'hash', 'name'],
  'restored_from',
] as const;

/** Reads a revision with its content's text. The caller has judged access. */
export async function readRevision(db: Kysely<Schema>, document: string, version: number) {
  return await db
    .selectFrom('fencepost.document_revision')
    .select([...summary, 'content'])
    .where('document', '=', document)
    .where('version', '=', version)
    .executeTakeFirst();
}

export type RevisionRow = Omit<NonNullable<Awaited<ReturnType<typeof readRevision>>>, 'content'>;

/** Lists revisions before a version, newest first, without contents. */
export async function listRevisions(
  db: Kysely<Schema>,
  document: string,
  { before, limit }: { readonly before: number | undefined; readonly limit: number },
): Promise<readonly RevisionRow[]> {
  return await db
    .selectFrom('fencepost.document_revision')
    .select(summary)
    .where('document', '=', document)
    .where('version', '<', before ?? Number.MAX_SAFE_INTEGER)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
}

/** Names a revision, or takes its name away. Returns whether there is one. */
export async function nameRevision(
  db: Kysely<Schema>,
  given: { readonly document: string; readonly version: number; readonly name: string | null },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('fencepost.document_revision')
    .set({ name: given.name })
    .where('document', '=', given.document)
    .where('version', '=', given.version)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export interface Thinning {
  readonly stage: 'hour' | 'day';
  readonly olderThanMs: number;
  readonly limit: number;
}

/** Thins revisions of one age, oldest first. Returns how many were looked at and deleted. */
export async function thinRevisions(
  tx: Tx,
  { stage, olderThanMs, limit }: Thinning,
): Promise<{ readonly looked: number; readonly deleted: number }> {
  const kept = stage === 'hour' ? 0 : 1;
  const { rows } = await sql<{ looked: number; deleted: number }>`
    with old as materialized (
      select r.document, r.version, r.at, r.name is null and r.restored_from is null as passing
      from fencepost.document_revision r
      where r.kept = ${kept}
        and r.at < statement_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
      order by r.at limit ${limit} for update skip locked),
    judged as materialized (
      select o.document, o.version, o.passing and date_trunc(${stage}, o.at, 'UTC') = (
          select date_trunc(${stage}, n.at, 'UTC') from fencepost.document_revision n
          where n.document = o.document and n.version > o.version
          order by n.version limit 1) is true as goes
      from old o),
    gone as (
      delete from fencepost.document_revision r using judged j
      where j.goes and r.document = j.document and r.version = j.version returning 1),
    stays as (
      update fencepost.document_revision r set kept = ${kept + 1} from judged j
      where not j.goes and r.document = j.document and r.version = j.version returning 1)
    select (select count(*) from judged) as looked, (select count(*) from gone) as deleted`.execute(
    tx,
  );
  return rows[0] ?? { looked: 0, deleted: 0 };
}
