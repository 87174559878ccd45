// A statement of a domain's own, sent as the kernel sends its: by name, so that a connection parses
// and plans it once, and in a transaction between SAVEPOINT and RELEASE, so that a failure leaves
// the transaction usable; without them where somebody else sees to that.

import { CompiledQuery, type Kysely } from 'kysely';
import { statementName } from './compile.ts';
import type { KernelQuery } from './connection.ts';
import type { Schema } from './schema.ts';

/**
 * Prepares a constant text. Outside of a transaction it is one round trip, and commits by itself.
 */
export function namedStatement<R>(
  prefix: string,
  text: string,
  { savepoint = true }: { readonly savepoint?: boolean } = {},
): (db: Kysely<Schema>, values: readonly unknown[]) => Promise<readonly R[]> {
  const name = statementName(prefix, text);
  return async (db, values) => {
    const query: KernelQuery = { ...CompiledQuery.raw(text, [...values]), name, savepoint };
    const { rows } = await db.executeQuery<R>(query);
    return rows;
  };
}
