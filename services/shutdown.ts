// Closing what was opened, in reverse order, each within a time limit. server.ts registers each
// part as soon as it runs, so that a start that fails halfway closes exactly what had begun.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

export interface Shutdown {
  /** Registers how to close a part. `withinMs`: it is not waited for any longer than this. */
  defer(name: string, close: () => Promise<void>, withinMs?: number): void;
  /** Closes all parts, the last one first. A part that fails or hangs does not keep the others. */
  close(): Promise<void>;
}

const patienceMs = 5000;

export function openShutdown(log: Logger): Shutdown {
  const parts: { name: string; close: () => Promise<void>; withinMs: number }[] = [];
  return {
    defer(name, close, withinMs = patienceMs) {
      parts.push({ name, close, withinMs });
    },
    async close() {
      for (let part = parts.pop(); part; part = parts.pop()) {
        const { name, close, withinMs } = part;
        const over = new AbortController();
        const late = pause(withinMs, 'late', { signal: over.signal }).catch(() => 'closed');
        try {
          const how = await Promise.race([close().then(() => 'closed'), late]);
          if (how === 'late') log.error({ part: name, withinMs }, 'did not close in time');
        } catch (error) {
          log.error({ part: name, err: error }, 'did not close cleanly');
        } finally {
          over.abort();
        }
      }
    },
  };
}
