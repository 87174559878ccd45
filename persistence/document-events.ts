// What happened to documents since somebody last looked, read by version: what is announced to
// whoever has them open.
//
// - Access is judged at each look, so that what was taken away is not announced.

import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';

/** The topic of wake-ups after a change of any document. */
export const documentTopic = 'document';

export interface Watched {
  readonly id: string;
  /** The last version that was announced; 0 before the first look. */
  readonly version: number;
}

export interface VersionRow {
  readonly document: string;
  readonly version: number;
  readonly save: string | null;
  readonly writer: string | null;
  readonly author: string;
  readonly at: number;
}

export interface Watcher {
  readonly actor: string;
  readonly id: string;
}

export interface StateRow {
  /** Which of the watchers that were asked for, from 0. */
  readonly n: number;
  readonly version: number;
  readonly deleted_at: number | null;
  readonly deleted_by: string | null;
}

/** How the watched documents stand. Those that a watcher may not read are not in the answer. */
export async function readStates(
  db: Kysely<Schema>,
  watchers: readonly Watcher[],
): Promise<readonly StateRow[]> {
  const [actors, ids] = [watchers.map(({ actor }) => actor), watchers.map(({ id }) => id)];
  const { rows } = await sql<StateRow>`
    select w.n - 1 as n, d.version, d.deleted_at, d.deleted_by
    from unnest(${actors}::text[], ${ids}::uuid[]) with ordinality as w(actor, id, n)
    join fencepost.document d on d.id = w.id and (d.owner = w.actor or exists (
      select from fencepost.document_grant g
      where g.document = d.id and g.grantee = w.actor))`.execute(db);
  return rows;
}

/** The versions after those that were announced, in order, of documents that the caller judged. */
export async function readVersionsAfter(
  db: Kysely<Schema>,
  watched: readonly Watched[],
  limit: number,
): Promise<readonly VersionRow[]> {
  const [ids, versions] = [watched.map(({ id }) => id), watched.map(({ version }) => version)];
  const { rows } = await sql<VersionRow>`
    select r.document, r.version, r.save, r.writer, r.author, r.at
    from unnest(${ids}::uuid[], ${versions}::int8[]) as w(document, version)
    join fencepost.document_revision r on r.document = w.document and r.version > w.version
    order by r.document, r.version limit ${limit}`.execute(db);
  return rows;
}
