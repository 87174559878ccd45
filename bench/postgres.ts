// A Postgres of its own for a benchmark: durable settings, as a user would have them, thrown away
// at the end. BENCH_DATABASE_URL names another one.

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { machines } from '../machines/all.ts';
import { type Database, openDatabase } from '../persistence/database.ts';
import { installMachines } from '../persistence/definitions.ts';
import { databaseUrl, startEmbeddedPostgres } from '../persistence/embedded-postgres.ts';
import { keepPartitions } from '../persistence/journal.ts';
import { migrate } from '../persistence/migrate.ts';

export interface BenchServer {
  readonly url: string;
  readonly database: Database;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env['BENCH_DATABASE_URL'];
  if (given) return { url: given, stop: async () => undefined };
  const server = await startEmbeddedPostgres({
    dataDir: join(tmpdir(), `fencepost-bench-${randomUUID()}`),
    throwaway: true,
    settings: { shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '30min' },
  });
  return { url: server.url, stop: () => server.stop() };
}

export async function openBenchServer(): Promise<BenchServer> {
  const server = await startServer();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query('drop database if exists fencepost_bench with (force)');
  await admin.query('create database fencepost_bench');
  await admin.end();
  const url = databaseUrl(server.url, 'fencepost_bench');
  const database = await openDatabase({ url, connections: 12 });
  await migrate(database);
  await installMachines(database, machines);
  await keepPartitions(database);
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  // The server ends before the last goodbye was read.
  pool.on('error', () => undefined);
  return {
    url,
    database,
    pool,
    async close() {
      await pool.end();
      await database.close();
      await server.stop();
    },
  };
}
