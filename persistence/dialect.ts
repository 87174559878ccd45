// The Kysely dialect that the kernel needs. `database.ts` opens it; everything else sees Kysely.
//
// - Statements go by the extended protocol, always; those of the kernel are named, so that a
//   connection parses and plans them once. Kysely's own driver names nothing, and sends what has no
//   parameters by the simple protocol. Behind a transaction pooler nothing is named.
// - BEGIN asks for READ COMMITTED and carries the limits, in one message that the first statement
//   does not wait for (node-postgres's pipeline mode).
// - A query with `savepoint` is sent between SAVEPOINT and RELEASE, without waiting for either: if
//   it fails, the transaction is as it was before it.
// - Rolling back never throws: a connection on which it failed is closed, and so its transaction
//   ends.
// - A connection that is lost between two statements tells whoever sends the next one why it was.

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type pg from 'pg';
import { cutConnection } from './cut-connection.ts';
import { type Limits, limitsText } from './limits.ts';
import { sqlstateOf } from './sqlstate.ts';

/** A query of the kernel: what Kysely passes through untouched, and what the driver makes of it. */
export interface KernelQuery extends CompiledQuery {
  readonly name?: string;
  readonly savepoint?: boolean;
  /** Rows as arrays of the text that Postgres sent: the kernel decodes what is looked at. */
  readonly raw?: boolean;
}

/**
 * Errors after which Postgres hangs up: a shutdown, an administrator, an exceeded limit of time.
 */
const hangsUp = /^(08|57P|25P0[34])/;

const rawTypes: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** The connection broke while COMMIT was under way: whether it took effect is not known. */
export class CommitInDoubtError extends Error {
  override readonly name = 'CommitInDoubtError';
  readonly code = 'commit_in_doubt';
}

/** A statement had failed, so COMMIT rolled back. Somebody swallowed that statement's error. */
export class TransactionAbortedError extends Error {
  override readonly name = 'TransactionAbortedError';
  readonly code = 'transaction_aborted';
}

export interface DialectOptions {
  readonly pool: pg.Pool;
  readonly named: boolean;
  readonly limits: Limits;
  readonly serverVersion: number;
}

interface Sent {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
  readonly queryMode?: 'extended';
  readonly rowMode?: 'array';
  readonly types?: pg.CustomTypesConfig;
}

class Connection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #options: DialectOptions;
  #begun: Promise<unknown> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #broken: Error | undefined;

  constructor(client: pg.PoolClient, options: DialectOptions) {
    this.#client = client;
    this.#options = options;
    // The pool listens to idle clients only. Without a listener the error of a connection that is
    // lost while somebody has it would end the process.
    client.on('error', this.#lose);
  }

  readonly #lose = (error: Error): void => {
    this.#broken ??= error;
  };

  async #send(query: Sent): Promise<pg.QueryArrayResult & pg.QueryResult> {
    if (this.#broken) throw this.#broken;
    try {
      return await this.#client.query(query as pg.QueryArrayConfig & { values: unknown[] });
    } catch (error) {
      const state = sqlstateOf(error);
      if (!(error instanceof Error) || (state && !hangsUp.test(state))) throw error;
      this.#lose(error);
      throw this.#broken;
    }
  }

  async executeQuery<R>(query: KernelQuery): Promise<QueryResult<R>> {
    const sent: Sent = {
      text: query.sql,
      values: query.parameters,
      queryMode: 'extended',
      ...(this.#options.named && query.name !== undefined && { name: query.name }),
      ...(query.raw && { rowMode: 'array', types: rawTypes }),
    };
    const answer = query.savepoint ? this.#guarded(sent) : this.#send(sent);
    const [result] = await Promise.all([answer, this.#begun]);
    const changes = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(result.command);
    return {
      rows: result.rows as R[],
      ...(changes && { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    };
  }

  async #guarded(sent: Sent): Promise<pg.QueryArrayResult & pg.QueryResult> {
    const before = this.#send({ text: 'savepoint kernel' });
    const answer = this.#send(sent);
    const release = this.#send({ text: 'release savepoint kernel' });
    const [, result, released] = await Promise.allSettled([before, answer, release]);
    if (result.status === 'fulfilled' && released.status === 'fulfilled') return result.value;
    if (!this.#broken) {
      await this.#send({ text: 'rollback to savepoint kernel; release savepoint kernel' });
    }
    throw result.status === 'rejected' ? result.reason : (released as PromiseRejectedResult).reason;
  }

  begin(): void {
    const { limits, serverVersion } = this.#options;
    const text = `begin isolation level read committed; ${limitsText(limits, serverVersion)}`;
    this.#begun = this.#send({ text });
    // The first statement waits for it; until then nobody else does.
    this.#begun.catch(() => undefined);
    if (serverVersion < 170_000) {
      this.#timer = setTimeout(() => this.#destroy(), limits.transactionMs);
    }
  }

  /** What transaction_timeout does from Postgres 17 on: the session ends, and with it its locks. */
  #destroy(): void {
    this.#lose(new Error('the transaction took longer than its limit'));
    cutConnection(this.#client);
  }

  async commit(): Promise<void> {
    let sent = false;
    try {
      await this.#begun;
      sent = this.#broken === undefined;
      const { command } = await this.#send({ text: 'commit' });
      if (command === 'ROLLBACK') {
        throw new TransactionAbortedError('a failed statement had aborted the transaction');
      }
    } catch (error) {
      if (!sent || !this.#broken) throw error;
      throw new CommitInDoubtError('the answer to COMMIT was lost', { cause: error });
    } finally {
      this.#end();
    }
  }

  async rollback(): Promise<void> {
    this.#end();
    if (this.#broken) return;
    try {
      await this.#send({ text: 'rollback' });
    } catch (error) {
      this.#lose(error instanceof Error ? error : new Error('rollback failed'));
    }
  }

  #end(): void {
    this.#begun = undefined;
    clearTimeout(this.#timer);
  }

  release(): void {
    this.#client.release(this.#broken);
    this.#client.off('error', this.#lose);
  }

  // biome-ignore lint/correctness/useYield: streaming is not offered, and says so.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not offered: read pages by key');
  }
}

class KernelDriver implements Driver {
  readonly #options: DialectOptions;

  constructor(options: DialectOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<Connection> {
    return new Connection(await this.#options.pool.connect(), this.#options);
  }

  async beginTransaction(connection: Connection): Promise<void> {
    connection.begin();
  }

  commitTransaction(connection: Connection): Promise<void> {
    return connection.commit();
  }

  rollbackTransaction(connection: Connection): Promise<void> {
    return connection.rollback();
  }

  async releaseConnection(connection: Connection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await this.#options.pool.end();
  }
}

export function kernelDialect(options: DialectOptions): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new KernelDriver(options),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}
