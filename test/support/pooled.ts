// A database on the kernel's dialect whose pool the test can look into, and whose server may be
// told to be another one than it is.

import { Kysely } from 'kysely';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { Database, DatabaseOptions } from '../../persistence/database.ts';
import { kernelDialect } from '../../persistence/dialect.ts';
import { defaultLimits, type Limits } from '../../persistence/limits.ts';
import type { Schema } from '../../persistence/schema.ts';

export interface Pooled extends Database {
  readonly pool: pg.Pool;
}

type Faked = Partial<Pick<Database, 'serverVersion' | 'behindPooler'>>;

/** Opens it for one test. Nothing is asked of the server. */
export function pooled(options: DatabaseOptions & Faked): Pooled {
  const { url, connections = 4, limits = defaultLimits, clientClass } = options;
  const { serverVersion = 180_000, behindPooler = false } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    pipeline: true,
    connectionTimeoutMillis: 10_000,
    application_name: 'pooled',
    ...(clientClass && { Client: clientClass as typeof pg.Client }),
  } as pg.PoolConfig);
  pool.on('error', (error) => options.onError?.(error));
  const under = (its: Limits) =>
    new Kysely<Schema>({
      dialect: kernelDialect({ pool, named: !behindPooler, limits: its, serverVersion }),
    });
  const db = under(limits);
  onTestFinished(() => db.destroy());
  return {
    pool,
    db,
    under,
    url,
    limits,
    serverVersion,
    behindPooler,
    connections: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => db.destroy(),
  };
}

/** Gets every connection that the pool may have at once, and gives them back: none has leaked. */
export async function freeConnections({ pool }: Pooled): Promise<number> {
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const client of clients) client.release();
  return clients.length;
}
