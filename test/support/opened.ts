// Databases that a test file opens and that are closed when a test, or the file, has finished.

import type pg from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../persistence/database.ts';
import { cloneDatabase, useDatabase } from './database.ts';

/** Opens a database for one test. */
export async function opened(options: DatabaseOptions): Promise<Database> {
  const database = await openDatabase(options);
  onTestFinished(() => database.close());
  return database;
}

/** Opens a database of its own for one test. */
export async function fresh(options: Omit<DatabaseOptions, 'url'> = {}): Promise<Database> {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  return await opened({ url, ...options });
}

/** Gives the file a database and opens it once for all its tests. */
export function useOpened(options: Omit<DatabaseOptions, 'url'> = {}): () => Database {
  const url = useDatabase();
  let database: Database | undefined;
  beforeAll(async () => {
    database = await openDatabase({ url: url(), applicationName: 'opened', ...options });
  });
  afterAll(() => database?.close());
  return () => {
    if (!database) throw new Error('The database exists once the tests run.');
    return database;
  };
}

/** Connects a client for one test. */
export async function connected(client: pg.Client): Promise<pg.Client> {
  // The test decides what the end of a connection means.
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
