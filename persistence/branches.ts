// The databases of this server as branches, and the operations on them: what the provider
// `postgres` accepts and tells. branch-runner.ts carries the operations out.
//
// - A branch is a database with a row in `branch`, which names its parent. Every other database is
//   a root: it can be copied, and never be replaced or dropped. The service's own is neither.
// - An operation is accepted in one transaction, and refused with a reason in it.

import { sql } from 'kysely';
import { branchNameFault } from './branch-names.ts';
import type { Database } from './database.ts';
import type { Limits } from './limits.ts';
import { type Tx, transaction } from './transaction.ts';

export interface BranchRow {
  readonly name: string;
  readonly parent: string | null;
  readonly is_own: boolean;
  readonly is_busy: boolean;
  readonly has_children: boolean;
}

export interface BranchOperation {
  readonly id: number;
  readonly action: 'create' | 'reset' | 'delete';
  readonly branch: string;
  readonly parent: string | null;
  readonly keep_as: string | null;
  readonly status: 'scheduling' | 'running' | 'finished' | 'error';
  readonly failures: number;
  readonly last_error: string | null;
  readonly parent_allows: boolean | null;
  readonly branch_allows: boolean | null;
  /** Microseconds, as all instants. */
  readonly closed_at: number | null;
  readonly opened_at: number | null;
  readonly swapped_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface NewBranchOperation {
  readonly action: BranchOperation['action'];
  readonly branch: string;
  readonly parent?: string | undefined;
  readonly keepAs?: string | undefined;
}

/** The databases that are branches or can be copied into one. Those on their way are left out. */
export async function listBranches(database: Database): Promise<readonly BranchRow[]> {
  const { rows } = await sql<BranchRow>`
  select d.datname::text as name, b.parent, d.datname = current_database() as is_own,
    exists (select from fencepost.branch_operation o
      where o.branch = d.datname::text and o.status in ('scheduling', 'running')) as is_busy,
    exists (select from fencepost.branch c join pg_database e on e.datname::text = c.name
      where c.parent = d.datname::text) as has_children
  from pg_database d left join fencepost.branch b on b.name = d.datname::text
  where not d.datistemplate and d.datname::text !~ '^fencepost_[0-9]+_(new|old)$'
  order by 1`.execute(database.db);
  return rows;
}

interface Found {
  readonly exists: boolean;
  readonly is_own: boolean;
  readonly parent: string | null;
  readonly has_children: boolean;
}

async function find(tx: Tx, name: string): Promise<Found> {
  const { rows } = await sql<Found>`
  select exists (select from pg_database where datname::text = ${name}) as exists,
    current_database()::text = ${name} as is_own,
    (select parent from fencepost.branch where name = ${name}) as parent,
    exists (select from fencepost.branch c join pg_database e on e.datname::text = c.name
      where c.parent = ${name}) as has_children`.execute(tx);
  return rows[0] ?? { exists: false, is_own: false, parent: null, has_children: false };
}

/** Says why this cannot be done; undefined if it can, with the parent from which it is copied. */
async function judge(tx: Tx, asked: NewBranchOperation): Promise<string | { parent: string }> {
  const { action, branch, keepAs } = asked;
  for (const name of [branch, asked.parent, keepAs]) {
    const fault = name === undefined ? undefined : branchNameFault(name);
    if (fault !== undefined) return `${JSON.stringify(name)}: ${fault}`;
  }
  const found = await find(tx, branch);
  if (found.is_own) return `"${branch}" is the service's own database`;
  const parent = action === 'create' ? asked.parent : found.parent;
  if (action === 'create' && found.exists) return `there is a database "${branch}" already`;
  if (action !== 'create' && !found.exists) return `there is no branch "${branch}"`;
  if (parent === undefined || parent === null) return `"${branch}" is a root: it has no parent`;
  if (action === 'delete') {
    return found.has_children ? `"${branch}" has branches of its own` : { parent };
  }
  const source = await find(tx, parent);
  if (source.is_own) return `"${parent}" is the service's own database`;
  if (!source.exists) return `there is no database "${parent}" to copy`;
  if (keepAs !== undefined && (await find(tx, keepAs)).exists) {
    return `there is a database "${keepAs}" already`;
  }
  return { parent };
}

export type Accepted =
  | { readonly outcome: 'accepted'; readonly operation: BranchOperation }
  | { readonly outcome: 'refused'; readonly reason: string };

export interface AcceptOptions {
  readonly limits: Limits;
  /** Asked last, before the row is written. */
  readonly isLate: () => boolean;
}

/**
 * Accepts an operation, to be carried out later, or says why not. One attempt, within the limits.
 */
export async function acceptBranchOperation(
  database: Database,
  asked: NewBranchOperation,
  { limits, isLate }: AcceptOptions,
): Promise<Accepted> {
  const accept = async (tx: Tx): Promise<Accepted> => {
    const verdict = await judge(tx, asked);
    if (typeof verdict === 'string') return { outcome: 'refused', reason: verdict };
    if (isLate()) throw new Error('the send window had passed');
    const { rows } = await sql<BranchOperation>`
    insert into fencepost.branch_operation (action, branch, parent, keep_as)
    values (${asked.action}, ${asked.branch}, ${verdict.parent}, ${asked.keepAs ?? null})
    returning *`.execute(tx);
    const [operation] = rows;
    if (!operation) throw new Error('an operation was inserted and did not come back');
    return { outcome: 'accepted', operation };
  };
  return await transaction(database, accept, { limits, attempts: 1 });
}

/** The newest operation on a branch, if there was one. */
export async function newestBranchOperation(
  database: Database,
  branch: string,
): Promise<number | null> {
  const { rows } = await sql<{ id: number | null }>`
  select max(id) as id from fencepost.branch_operation where branch = ${branch}`.execute(
    database.db,
  );
  return rows[0]?.id ?? null;
}

/** The operations on a branch that are newer than this one, oldest first. */
export async function newerBranchOperations(
  database: Database,
  branch: string,
  than: number,
): Promise<readonly BranchOperation[]> {
  const { rows } = await sql<BranchOperation>`
  select * from fencepost.branch_operation where branch = ${branch} and id > ${than}::int8
  order by id`.execute(database.db);
  return rows;
}

export async function readBranchOperation(
  database: Database,
  id: number,
): Promise<BranchOperation | undefined> {
  const { rows } = await sql<BranchOperation>`
  select * from fencepost.branch_operation where id = ${id}::int8`.execute(database.db);
  return rows[0];
}
