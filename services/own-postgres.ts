// The embedded Postgres of this process, started again when it dies by itself. server.ts starts it
// where DATABASE_URL is not set.
//
// - It comes back on the port that it had, so everybody else only sees a lost database.
// - One that keeps dying is given up: then there is something that a person must look at.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresExit,
  startEmbeddedPostgres,
} from '../persistence/embedded-postgres.ts';
import { backoffMs } from './backoff.ts';

export interface OwnPostgresOptions {
  readonly dataDir: string;
  readonly log: Logger;
  /** Called once, when it is not started again. */
  readonly onGivenUp: () => void;
}

export interface OwnPostgres {
  /** Of the database `postgres`. */
  readonly url: string;
  stop(): Promise<void>;
}

const mostStarts = 5;
/** What has run for so long has recovered. */
const steadyMs = 60_000;
const longestBackoffMs = 5000;

/** @throws EmbeddedPostgresError when the first start fails. */
export async function startOwnPostgres(options: OwnPostgresOptions): Promise<OwnPostgres> {
  const { dataDir, log, onGivenUp } = options;
  const stopping = new AbortController();
  let server = await startEmbeddedPostgres({ dataDir, throwaway: false });
  const { url, port } = server;

  async function startAgain(starts: number): Promise<EmbeddedPostgres | undefined> {
    const tryAgainMs = Math.round(backoffMs(starts, longestBackoffMs));
    await pause(tryAgainMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    if (stopping.signal.aborted) return undefined;
    try {
      return await startEmbeddedPostgres({ dataDir, throwaway: false, port });
    } catch (error) {
      log.error({ err: error, starts }, 'the embedded Postgres did not start again');
      return undefined;
    }
  }

  async function keep(): Promise<void> {
    for (let starts = 0; !stopping.signal.aborted; ) {
      const since = performance.now();
      const exit: EmbeddedPostgresExit = await server.exited;
      if (stopping.signal.aborted) return;
      if (performance.now() - since > steadyMs) starts = 0;
      log.error({ code: exit.code, lines: exit.log }, 'the embedded Postgres ended by itself');
      let next: EmbeddedPostgres | undefined;
      while (!next && starts < mostStarts && !stopping.signal.aborted) {
        next = await startAgain(starts);
        starts += 1;
      }
      if (!next) break;
      server = next;
      if (stopping.signal.aborted) await server.stop();
      else log.info({ pid: server.postmasterPid }, 'the embedded Postgres runs again');
    }
    if (!stopping.signal.aborted) onGivenUp();
  }

  const keeping = keep();
  return {
    url,
    async stop() {
      stopping.abort();
      await server.stop();
      await keeping;
    },
  };
}
