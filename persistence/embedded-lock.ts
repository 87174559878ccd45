/**
 * Reads postmaster.pid, the lock that Postgres keeps in its data folder. Called by
 * embedded-postgres once a start was refused because of it; never written here.
 *
 * Source: PostgreSQL 18, src/include/utils/pidfile.h: line 1 process id, 4 port, 8 status.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface LockHolder {
  readonly pid: number;
  readonly port: number;
  readonly status: string;
}

// A server whose owner was killed says `stopping` within milliseconds, and is given the time for
// its last checkpoint. One that says anything else for this long has a living owner.
const stoppingLimitMs = 10_000;
const runningLimitMs = 2_000;
// The files of one folder could be watched instead, but watches are a scarce resource of a user.
const lookMs = 20;

/** Returns who holds the data folder, or undefined if nobody does or the file is half-written. */
export async function readLock(dataDir: string): Promise<LockHolder | undefined> {
  const text = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const holder = { pid: Number(lines[0]), port: Number(lines[3]), status: lines[7]?.trim() ?? '' };
  return holder.pid > 0 && holder.port > 0 ? holder : undefined;
}

/** Waits while a server goes down. Returns the holder that stays, or undefined when it is gone. */
export async function awaitLockRelease(dataDir: string): Promise<LockHolder | undefined> {
  const start = performance.now();
  for (;;) {
    const holder = await readLock(dataDir);
    if (holder === undefined || !isAlive(holder.pid)) return undefined;
    const limitMs = holder.status === 'stopping' ? stoppingLimitMs : runningLimitMs;
    if (performance.now() - start > limitMs) return holder;
    await delay(lookMs);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Only a process that exists can be one that may not be signalled.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
