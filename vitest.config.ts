import { defineConfig } from 'vitest/config';

// One generous limit for every test, as a backstop: creating a database from a template was
// measured at 22 ms and, five minutes later on the same shared machine, at 445 ms.
const limits = { testTimeout: 180_000, hookTimeout: 180_000, teardownTimeout: 60_000 };

export default defineConfig({
  test: {
    // By itself vitest leaves one core free, of the two that there may be. Most files wait for a
    // database or for a process.
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          include: ['test/{machines,kinds,client}/**/*.test.ts', 'test/tidy.test.ts'],
        },
      },
      {
        test: {
          ...limits,
          name: 'database',
          include: [
            'test/{persistence,services,scripts}/**/*.test.ts',
            'test/server.test.ts',
            'test/crash.test.ts',
            'test/restart.test.ts',
          ],
          globalSetup: ['test/support/postgres.setup.ts'],
        },
      },
      {
        test: {
          ...limits,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/support/postgres.setup.ts'],
        },
      },
    ],
  },
});
