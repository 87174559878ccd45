// What the database needs from time to time: the journal's next partitions, and the end of its old
// ones. server.ts starts it in every process; the maintenance lock lets one at a time work.
//
// - It never ends the process. What failed is tried again at the next turn; the default partition
//   takes rows meanwhile.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../persistence/database.ts';
import { dropOldPartitions, keepPartitions } from '../persistence/journal.ts';

export interface UpkeepOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly everyMs?: number;
}

const sixHoursMs = 6 * 3_600_000;

/** Does a first turn, before anything is written, and starts one every six hours. */
export async function startUpkeep({ database, log, everyMs = sixHoursMs }: UpkeepOptions) {
  const closing = new AbortController();

  async function turn(): Promise<void> {
    try {
      const made = await keepPartitions(database);
      const dropped = await dropOldPartitions(database);
      if (made.length + dropped.length > 0) log.info({ made, dropped }, 'journal: partitions');
    } catch (error) {
      log.error({ err: error, tryAgainMs: everyMs }, 'journal: partitions were not kept');
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await pause(everyMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (!closing.signal.aborted) await turn();
    }
  }

  await turn();
  const running = run();
  return {
    async close(): Promise<void> {
      closing.abort();
      await running;
    },
  };
}
