// Operations as they are shown: one with all that happened to it, and pages by key.

import { dbops } from '../../machines/dbops.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { printInstant } from '../../persistence/instant.ts';
import {
  listOperations,
  type OperationFilter,
  type OperationRow,
  readOperation,
  readOperationJournal,
} from '../../persistence/operations.ts';
import { transaction } from '../../persistence/transaction.ts';
import { isUuid } from '../../persistence/values.ts';
import { changeSchema, externalOperationSchema } from './provider.ts';

const at = (instant: number | null) => (instant === null ? null : printInstant(instant));
const shownOperations = externalOperationSchema.array().nullable();

/** The row for people: instants as text, and nothing of leases and fingerprints. */
const shown = (row: OperationRow) => ({
  id: row.id,
  status: row.status,
  outcome: row.outcome,
  provider: row.provider,
  change: changeSchema.parse(row.request),
  requestedBy: row.principal,
  createdAt: printInstant(row.created_at),
  issuedAt: at(row.issued_at),
  nextPollAt: at(row.next_poll_at),
  deadlineAt: at(row.deadline_at),
  finishedAt: at(row.finished_at),
  issueMark: row.issue_mark,
  operations: shownOperations.parse(row.operations) ?? [],
  error: row.error,
  lastError: row.last_error,
});
export type ShownOperation = ReturnType<typeof shown>;

/** Shows an operation as it is after its deadline was judged; undefined if there is none. */
export async function showOperation(database: Database, id: string) {
  if (!isUuid(id)) return undefined;
  return await transaction(database, async (tx) => {
    await heal(tx, dbops, id);
    const row = await readOperation(tx, id);
    if (!row) return undefined;
    const journal = await readOperationJournal(tx, id);
    return {
      ...shown(row),
      journal: journal.map((each) => ({ ...each, at: printInstant(each.at) })),
    };
  });
}

const mostRows = 100;

/** Shows a page, newest first, with the cursor of the next one if there is more. */
export async function showOperations(
  database: Database,
  filter: Omit<OperationFilter, 'limit'> & { readonly limit?: number },
): Promise<{ readonly operations: readonly ShownOperation[]; readonly next: string | null }> {
  const limit = Math.min(Math.max(1, filter.limit ?? 20), mostRows);
  const rows = await listOperations(database.db, { ...filter, limit: limit + 1 });
  const operations = rows.slice(0, limit).map(shown);
  return { operations, next: rows.length > limit ? (operations.at(-1)?.id ?? null) : null };
}
