// The Kysely dialect that the kernel needs. `database.ts` opens it; everything else sees Kysely.
//
// - Statements go by the extended protocol, always; those of the kernel are named, so that a
//   connection parses and plans them once. Kysely's own driver names nothing, and sends what has no
//   parameters by the simple protocol. Behind a transaction pooler nothing is named.
// - What one connection does is in connection.ts.

import {
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type pg from 'pg';
import { Connection, type ConnectionOptions } from './connection.ts';

export interface DialectOptions extends ConnectionOptions {
  readonly pool: pg.Pool;
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
