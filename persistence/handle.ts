// A handle on a transaction for code that must not end it: a tool, while its step is carried out.
// services/proposals/use-tool.ts opens one for each call of a tool.
//
// - It refuses what begins, ends or divides a transaction, and what changes a session's settings:
//   the limits are the step's. Statements go by the extended protocol, as all do here, so several
//   commands in one string are refused by the server (42601).
// - Once it is revoked every query throws, before it reaches a connection. What was sent before is
//   waited for by `settled`.
// - It keeps honest code from mistakes. What a function called by SQL does (`set_config`) it does
//   not see; a COMMIT that slipped through would be refused by the trigger `receipted`.

import {
  type DatabaseConnection,
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  Transaction,
} from 'kysely';
import type { KernelQuery } from './connection.ts';
import type { Schema } from './schema.ts';
import { shareCommit, type Tx } from './transaction.ts';

export class HandleError extends Error {
  override readonly name = 'HandleError';
  readonly code: 'revoked' | 'forbidden_statement';

  constructor(code: HandleError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface Handle {
  readonly tx: Tx;
  /** Refuses every query from here on. */
  revoke(): void;
  /** Resolves when no query is under way. */
  settled(): Promise<void>;
  /** What the database refused, if anything: the transaction is aborted since then. */
  failure(): unknown;
}

const spaceOrLine = /^(?:[\s;(]+|--[^\n]*(?:\n|$))/;
const forbidden =
  /^(begin|start|commit|end|rollback|abort|savepoint|release|prepare|set|reset|discard|listen|unlisten)\b/i;

/** What is behind a comment, which may hold others. Source: PostgreSQL manual, 4.1.5 Comments. */
function behindComment(text: string): string {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return text.slice(index + mark.length);
  }
  return '';
}

/** The word with which a statement begins that no tool may send; undefined for any other. */
export function forbiddenWord(text: string): string | undefined {
  let rest = text;
  for (;;) {
    const skipped = spaceOrLine.exec(rest)?.[0].length ?? 0;
    if (skipped === 0 && !rest.startsWith('/*')) break;
    rest = skipped > 0 ? rest.slice(skipped) : behindComment(rest);
  }
  return forbidden.exec(rest)?.[1]?.toLowerCase();
}

const dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db: ConstructorParameters<typeof PostgresIntrospector>[0]) =>
    new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

/** Opens a handle. Everything else about it is the transaction's: connection, locks, commit. */
export function openHandle(tx: Tx): Handle {
  const underWay = new Set<Promise<unknown>>();
  let revoked = false;
  let failure: unknown;

  function send<T>(text: string, query: () => Promise<T>, isGuarded: boolean): Promise<T> {
    if (revoked) throw new HandleError('revoked', 'the step is over: its handle was revoked');
    const word = forbiddenWord(text);
    if (word !== undefined) {
      throw new HandleError('forbidden_statement', `a tool sends no "${word}"`);
    }
    const answer = query();
    underWay.add(answer);
    const over = () => underWay.delete(answer);
    answer.then(over, (error: unknown) => {
      over();
      if (!isGuarded) failure ??= error;
    });
    return answer;
  }
  const guarded = (connection: DatabaseConnection): DatabaseConnection => ({
    executeQuery(query: KernelQuery) {
      // A query of the kernel leaves the transaction as it was where it fails.
      return send(query.sql, () => connection.executeQuery(query), query.savepoint === true);
    },
    streamQuery() {
      throw new Error('streaming is not offered: read pages by key');
    },
  });

  const inner = tx.getExecutor();
  const executor = inner.withConnectionProvider({
    provideConnection: (consumer) =>
      inner.provideConnection(async (connection) => await consumer(guarded(connection))),
  });
  const config = { dialect };
  const driver = new DummyDriver();
  const handle = new Transaction<Schema>({ config, dialect, driver, executor });
  shareCommit(tx, handle);
  return {
    tx: handle,
    revoke() {
      revoked = true;
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    failure: () => failure,
  };
}
