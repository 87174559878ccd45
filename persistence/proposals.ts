// What proposals read and write beside their runs: steps, receipts, pages of a list. Moving a
// proposal is the door's.
//
// - Steps are written once, in the transaction of the birth; receipts once, in that of the step.
// - Lock order: a proposal's row first, then everything else of it.

import { type Kysely, sql } from 'kysely';
import { namedStatement } from './named-statement.ts';
import type { Schema } from './schema.ts';
import type { Tx } from './transaction.ts';

/** A step as it is stored. `arguments` is the exact text that was hashed and approved. */
export interface StoredStep {
  readonly tool: string;
  readonly version: number;
  readonly arguments: string;
}

export interface Receipt {
  readonly index: number;
  readonly outcome: 'ok' | 'failed';
  /** JSON, as the tool gave it. */
  readonly output: string | null;
  readonly error: string | null;
  readonly fence: number;
  /** Microseconds since 1970, by the database's clock. */
  readonly at: number;
}

/** The database's clock in microseconds: what expiries are reckoned from. */
export async function readClock(db: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<{ at: number }>`select clock_timestamp() as at`.execute(db);
  return rows[0]?.at ?? 0;
}

/** Writes the steps of a plan, in its proposal's transaction. */
export async function insertSteps(
  tx: Tx,
  proposal: string,
  steps: readonly StoredStep[],
): Promise<void> {
  await sql`
    insert into fencepost.proposal_step (proposal, index, tool, tool_version, arguments)
    select ${proposal}::uuid, s.n - 1, s.tool, s.version, s.arguments
    from unnest(${steps.map(({ tool }) => tool)}::text[],
      ${steps.map(({ version }) => version)}::int4[],
      ${steps.map((step) => step.arguments)}::text[])
      with ordinality as s(tool, version, arguments, n)`.execute(tx);
}

const stepsNamed = namedStatement<StoredStep>(
  'read_steps',
  `select tool, tool_version as version, arguments from fencepost.proposal_step
    where proposal = $1 order by index`,
  { savepoint: false },
);

/** Reads the steps of a plan, in order. */
export async function readSteps(
  db: Kysely<Schema>,
  proposal: string,
): Promise<readonly StoredStep[]> {
  return await stepsNamed(db, [proposal]);
}

type NewReceipt = Omit<Receipt, 'at'> & { readonly proposal: string };

/** Writes a receipt. The caller has just closed the step, in this transaction. */
export async function insertReceipt(tx: Tx, receipt: NewReceipt): Promise<void> {
  const { proposal, index, outcome, output, error, fence } = receipt;
  await sql`
    insert into fencepost.proposal_receipt (proposal, index, outcome, output, error, fence)
    values (${proposal}::uuid, ${index}::int4, ${outcome}, ${output}, ${error}, ${fence}::int4)
    `.execute(tx);
}

/** Reads the receipts of a proposal from a step on, in order. */
export async function readReceipts(
  db: Kysely<Schema>,
  proposal: string,
  from = 0,
): Promise<readonly Receipt[]> {
  const rows = await db
    .selectFrom('fencepost.proposal_receipt')
    .select(['index', 'outcome', 'output', 'error', 'fence', 'at'])
    .where('proposal', '=', proposal)
    .where('index', '>=', from)
    .orderBy('index')
    .execute();
  return rows as readonly Receipt[];
}

const columns = [
  ...(['id', 'status', 'seq', 'proposer', 'risk', 'four_eyes', 'plan_hash', 'steps'] as const),
  ...(['rationale', 'link', 'linked_to', 'created_at', 'expires_at', 'fence'] as const),
  ...(['lease_expires_at', 'lease_owner', 'next_step', 'open_step'] as const),
  ...(['approved_by', 'approved_at', 'executed_by', 'rejected_by'] as const),
  ...(['reason', 'finished_at'] as const),
];

const selectProposals = (db: Kysely<Schema>) => db.selectFrom('fencepost.proposal').select(columns);

export type ProposalRow = Awaited<ReturnType<typeof readProposals>>[number];

/** Reads a proposal as it is committed. */
export async function readProposal(
  db: Kysely<Schema>,
  id: string,
): Promise<ProposalRow | undefined> {
  return await selectProposals(db).where('id', '=', id).executeTakeFirst();
}

/**
 * Locks a proposal until the transaction ends, as a transition would, and reads it. It waits for
 * whoever holds it, so what it reads is settled: also whether a COMMIT took effect whose answer was
 * lost. Source: PostgreSQL manual, 13.3.2 Row-Level Locks.
 */
export async function lockProposal(tx: Tx, id: string): Promise<ProposalRow | undefined> {
  return await selectProposals(tx).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export interface Page {
  readonly status?: string | undefined;
  readonly proposer?: string | undefined;
  /** The id behind which the page begins. Newest come first. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Reads a page of proposals, the newest first. */
export async function readProposals(db: Kysely<Schema>, page: Page) {
  const { status, proposer, after, limit } = page;
  let query = selectProposals(db);
  if (status !== undefined) query = query.where('status', '=', status);
  if (proposer !== undefined) query = query.where('proposer', '=', proposer);
  if (after !== undefined) query = query.where('id', '<', after);
  return await query.orderBy('id', 'desc').limit(limit).execute();
}

/** The proposals that continue or compensate this one and were not turned down: one of each. */
export async function readLinked(db: Kysely<Schema>, linkedTo: string) {
  return await db
    .selectFrom('fencepost.proposal')
    .select(['id', 'link'])
    .where('linked_to', '=', linkedTo)
    .where('status', 'not in', ['rejected', 'expired'])
    .execute();
}

/** Marks where a tool begins, so that what it did can be taken back. */
export const mark = 'savepoint tool';
export const markTool = (tx: Tx) => sql.raw(mark).execute(tx);

/** Takes back what the tool did. @throws where the transaction is not there any more. */
export const backToMark = (tx: Tx) => sql`rollback to savepoint tool`.execute(tx);

/** Has every deferred constraint judged, while what broke it can still be taken back. */
const checkDeferred = (tx: Tx) => sql`set constraints all immediate`.execute(tx);

/**
 * The same in the middle of a transaction: what comes after it may wait for the end again. How
 * constraints are judged is a matter of the subtransaction, and so is that they were.
 */
export async function tryDeferred(tx: Tx): Promise<void> {
  await sql`savepoint judged`.execute(tx);
  await checkDeferred(tx);
  await sql`rollback to savepoint judged`.execute(tx);
}
