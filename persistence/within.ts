// An end to waiting for a server that cannot be heard any more: a half-open connection gives no
// error. For clients of our own; what goes through the pool is watched by connection.ts.

import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { cutConnection } from './cut-connection.ts';

/**
 * Waits for an answer, at most so long. @throws when the time is over; the connection is cut then.
 */
export async function within<T>(client: pg.ClientBase, ms: number, answer: Promise<T>): Promise<T> {
  const limit = new AbortController();
  const late = pause(ms, undefined, { signal: limit.signal, ref: false }).then(() => {
    cutConnection(client);
    throw new Error(`no answer within ${ms} ms`);
  });
  // Whichever comes second is heard by nobody.
  answer.catch(() => undefined);
  late.catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } finally {
    limit.abort();
  }
}
