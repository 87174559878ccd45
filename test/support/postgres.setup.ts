// Starts the one Postgres of a test run, and builds the programs that tests start. Called by
// vitest, once for each project that needs a database.

import type { TestProject } from 'vitest/node';
import { buildPrograms } from './programs.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

/** Returns what vitest calls after the last test. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startThrowawayPostgres();
  project.provide('postgresUrl', server.url);
  const removePrograms = await buildPrograms();
  return async () => {
    await removePrograms();
    await server.stop();
  };
}
