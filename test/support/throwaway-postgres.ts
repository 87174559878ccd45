/**
 * A Postgres for a run of tests, with the template that `database.ts` copies.
 *
 * - The server is a throwaway: it and its folder go with the process, also if that is killed.
 * - The template takes no connections, so that no stray session can block a copy of it (55006).
 * - Nothing is flushed, because nothing survives the run; what a commit means stays as it is.
 * - It lies in memory where there is plenty: a copy of a template with 20 tables is 330 new files,
 *   which took 8 ms there and 120 ms on a disk.
 */
import { randomUUID } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  databaseUrl,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../persistence/embedded-postgres.ts';
import { prepareTemplate } from './template.ts';

/** Starts one, with settings of its own, and makes its template. The caller stops it. */
export async function startThrowawayPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({
    dataDir: join(await roomyFolder(), `fencepost-test-${randomUUID()}`),
    throwaway: true,
    settings: {
      fsync: 'off',
      full_page_writes: 'off',
      shared_buffers: '256MB',
      max_wal_size: '4GB',
      autovacuum: 'on',
      ...settings,
    },
  });
  try {
    await makeTemplate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** A container has 64 MB of shared memory unless told otherwise, which a run would fill. */
async function roomyFolder(): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => undefined);
  const isRoomy = memory !== undefined && memory.bavail * memory.bsize > 8 * 2 ** 30;
  return isRoomy ? '/dev/shm' : tmpdir();
}

async function makeTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('create database template_fencepost');
    await prepareTemplate(databaseUrl(url, 'template_fencepost'));
    await client.query(
      'alter database template_fencepost with allow_connections false is_template true',
    );
  } finally {
    await client.end();
  }
}
