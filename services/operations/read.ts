// Operations as they are read for people: one with all that happened to it, pages by key, and the
// transitions of one as they come.

import { setTimeout as delay } from 'node:timers/promises';
import { isFinal } from '../../machines/arrows.ts';
import { dbops } from '../../machines/dbops.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import {
  type ListedOperation,
  listOperations,
  type OperationEntry,
  type OperationFilter,
  type OperationRow,
  readOperation,
  readOperationJournal,
} from '../../persistence/operations.ts';
import { transaction } from '../../persistence/transaction.ts';
import { isUuid } from '../../persistence/values.ts';

export interface FoundOperation {
  readonly row: OperationRow;
  readonly journal: readonly OperationEntry[];
}

/** Reads an operation as it is after its deadline was judged; undefined if there is none. */
export async function findOperation(
  database: Database,
  id: string,
): Promise<FoundOperation | undefined> {
  if (!isUuid(id)) return undefined;
  return await transaction(database, async (tx) => {
    await heal(tx, dbops, id);
    const row = await readOperation(tx, id);
    return row && { row, journal: await readOperationJournal(tx, id) };
  });
}

export interface OperationPage {
  readonly rows: readonly ListedOperation[];
  /** The id behind which the next page goes on; undefined at the end. */
  readonly next: string | undefined;
}

/** Reads a page, newest first. */
export async function pageOfOperations(
  { db }: Database,
  { limit, ...filter }: OperationFilter,
): Promise<OperationPage> {
  const rows = await listOperations(db, { ...filter, limit: limit + 1 });
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? page.at(-1)?.id : undefined };
}

export interface Following {
  readonly id: string;
  /** The seq behind which it begins. */
  readonly after: number;
  /** Ends it when it is aborted. */
  readonly signal: AbortSignal;
  readonly pauseMs: number;
}

/**
 * Gives the transitions behind a seq as they come, and at last the row of the ended operation.
 * Seqs are given under the row's lock, so none is committed behind a larger one.
 */
export async function* followOperation(
  database: Database,
  { id, after, signal, pauseMs }: Following,
): AsyncGenerator<{ readonly entry: OperationEntry } | { readonly ended: OperationRow }> {
  for (let seen = after; !signal.aborted; ) {
    // The row first: what it says has happened is in the journal that is read after it.
    const row = await readOperation(database.db, id);
    if (!row) return;
    const entries = await readOperationJournal(database.db, id, seen);
    for (const entry of entries) yield { entry };
    seen = entries.at(-1)?.seq ?? seen;
    if (isFinal(dbops, row.status)) {
      yield { ended: row };
      return;
    }
    // Aborted while it waits: the loop ends.
    if (entries.length === 0) await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
