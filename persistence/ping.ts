// Whether the database answers, for those who ask on behalf of others.

import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { hangsUp, sqlstateOf } from './sqlstate.ts';

/** Asks the database for a sign of life. Never throws, and answers within the time. */
export async function answers({ db }: Database, withinMs: number): Promise<boolean> {
  const over = new AbortController();
  const late = pause(withinMs, false, { signal: over.signal, ref: false }).catch(() => false);
  const asked = sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );
  const answer = await Promise.race([asked, late]);
  over.abort();
  return answer;
}

const unreachable = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
];

/**
 * Whether an error says that the database went away. Those that node-postgres makes itself have no
 * code: ask `answers` about them.
 */
export function saysAway(error: unknown): boolean {
  const state = sqlstateOf(error);
  if (state) return hangsUp(state);
  if (!(error instanceof Error) || !('code' in error)) return false;
  return unreachable.includes(String(error.code)) || error.code === 'commit_in_doubt';
}
