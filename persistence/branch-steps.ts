// The steps of an operation on a branch. Each can be begun again after a crash at any statement:
// what was done is read off the server, and a branch is the old one or the new one, never missing.
//
// - The parent is closed for the copy alone, and opened again whatever becomes of that.
// - Both renames, the receipt in the operation's row and the one in the comment are one
//   transaction. The session is on the service's own database, so they can be.
// - What was allowed before is written down before anything is closed.
//   Source: PostgreSQL manual, CREATE DATABASE; tried: ALTER DATABASE … RENAME twice is atomic.

import { dress } from './branch-dress.ts';
import { copyName, oldName } from './branch-names.ts';
import type { BranchSession } from './branch-session.ts';
import type { BranchOperation } from './branches.ts';
import { identifier, literal } from './print.ts';

/** How long a session that was told to end may take. */
const endMs = 5000;

async function exists(session: BranchSession, name: string): Promise<boolean> {
  const found = await session.query('select from pg_database where datname::text = $1', [name]);
  return found.length > 0;
}

const allow = (session: BranchSession, name: string, allows: boolean) =>
  session.query(`alter database ${identifier(name)} allow_connections ${allows}`);

async function endSessions(session: BranchSession, name: string): Promise<void> {
  await session.query(
    `select pg_terminate_backend(pid, ${endMs}) from pg_stat_activity
     where datname::text = $1 and pid <> pg_backend_pid()`,
    [name],
  );
}

async function close(session: BranchSession, name: string): Promise<void> {
  await allow(session, name, false);
  await endSessions(session, name);
}

/** Opens again what this operation had closed, where it is still there. */
export async function openAgain(session: BranchSession, id: number): Promise<void> {
  const rows = await session.query<{ name: string }>(
    `select d.datname::text as name from fencepost.branch_operation o
       join pg_database d on (d.datname::text = o.parent and o.parent_allows)
         or (d.datname::text = o.branch and o.branch_allows)
     where o.id = $1 and not d.datallowconn`,
    [id],
  );
  for (const { name } of rows) await allow(session, name, true);
}

const noteBegin = (session: BranchSession, id: number) =>
  session.query(
    `update fencepost.branch_operation o set status = 'running', updated_at = clock_timestamp(),
       parent_allows = coalesce(o.parent_allows,
         (select datallowconn from pg_database where datname::text = o.parent)),
       branch_allows = coalesce(o.branch_allows,
         (select datallowconn from pg_database where datname::text = o.branch))
     where id = $1`,
    [id],
  );

async function openParent(session: BranchSession, { id, parent }: BranchOperation): Promise<void> {
  const [was] = await session.query<{ allows: boolean }>(
    `select parent_allows as allows from fencepost.branch_operation where id = $1`,
    [id],
  );
  if (was?.allows) await allow(session, parent ?? '', true);
  await session.query(
    `update fencepost.branch_operation
     set opened_at = coalesce(opened_at, clock_timestamp()) where id = $1`,
    [id],
  );
}

async function copyParent(session: BranchSession, operation: BranchOperation): Promise<void> {
  const { id, parent } = operation;
  const copy = copyName(id);
  if (await exists(session, copy)) return await openParent(session, operation);
  await session.query(
    `update fencepost.branch_operation set closed_at = clock_timestamp(), opened_at = null
     where id = $1`,
    [id],
  );
  try {
    await close(session, parent ?? '');
    await session.query(
      `create database ${identifier(copy)} template ${identifier(parent ?? '')} strategy file_copy allow_connections false`,
    );
  } finally {
    await openParent(session, operation);
  }
}

const receipt = (session: BranchSession, { id }: BranchOperation) =>
  session.query(
    `update fencepost.branch_operation
     set swapped_at = clock_timestamp(), updated_at = clock_timestamp() where id = $1`,
    [id],
  );

async function inTransaction(session: BranchSession, work: () => Promise<void>): Promise<void> {
  await session.query('begin isolation level read committed');
  try {
    await work();
    await session.query('commit');
  } catch (error) {
    await session.query('rollback').catch(() => undefined);
    throw error;
  }
}

const addBranch = (session: BranchSession, name: string, parent: string) =>
  session.query(
    `insert into fencepost.branch (name, parent) values ($1, $2)
     on conflict (name) do update set parent = excluded.parent`,
    [name, parent],
  );

const rename = (session: BranchSession, from: string, to: string) =>
  session.query(`alter database ${identifier(from)} rename to ${identifier(to)}`);

/** The copy takes the branch's place. */
async function swap(session: BranchSession, operation: BranchOperation): Promise<void> {
  const { id, action, branch, parent, keep_as: kept } = operation;
  if (action === 'reset') await close(session, branch);
  await inTransaction(session, async () => {
    if (action === 'reset') await rename(session, branch, kept ?? oldName(id));
    await rename(session, copyName(id), branch);
    await session.query(
      `comment on database ${identifier(branch)} is ${literal(`fencepost: ${action} by operation ${id}`)}`,
    );
    await allow(session, branch, operation.branch_allows ?? true);
    await addBranch(session, branch, parent ?? '');
    if (kept !== null) {
      await allow(session, kept, operation.branch_allows ?? true);
      await addBranch(session, kept, parent ?? '');
    }
    await receipt(session, operation);
  });
}

const drop = (session: BranchSession, name: string) =>
  session.query(`drop database if exists ${identifier(name)} with (force)`);

const read = async (session: BranchSession, id: number): Promise<BranchOperation> => {
  const [row] = await session.query<BranchOperation & Record<string, unknown>>(
    'select * from fencepost.branch_operation where id = $1',
    [id],
  );
  if (!row) throw new Error(`operation ${id} is gone`);
  return row;
};

const finish = (session: BranchSession, id: number) =>
  session.query(
    `update fencepost.branch_operation
     set status = 'finished', last_error = null, updated_at = clock_timestamp() where id = $1`,
    [id],
  );

/**
 * Carries an operation out, or on from where it was left.
 * @throws the server's errors. Nothing that was closed is left closed but by a lost connection.
 */
export async function carryOut(session: BranchSession, id: number): Promise<void> {
  await noteBegin(session, id);
  const operation = await read(session, id);
  const { action, branch, parent, keep_as: kept } = operation;
  if (action === 'delete') {
    if (await exists(session, branch)) await close(session, branch);
    await drop(session, branch);
    await inTransaction(session, async () => {
      await session.query('delete from fencepost.branch where name = $1', [branch]);
      await finish(session, id);
    });
    return;
  }
  if (operation.swapped_at === null) {
    await copyParent(session, operation);
    await dress(session, copyName(id), action === 'reset' ? branch : (parent ?? ''));
    await swap(session, operation);
  }
  if (action === 'reset' && kept === null) await drop(session, oldName(id));
  await finish(session, id);
}

/** Ends an operation that can never be carried out, and takes its copy away. */
export async function abandon(session: BranchSession, id: number, error: string): Promise<void> {
  await openAgain(session, id);
  await drop(session, copyName(id));
  await session.query(
    `update fencepost.branch_operation set status = 'error', failures = failures + 1,
       last_error = $2, updated_at = clock_timestamp() where id = $1`,
    [id, error],
  );
}
