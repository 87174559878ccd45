// How long a loop waits after it failed so many times in a row: doubling, capped, and jittered so
// that processes which lost the same database do not come back together.

const baseMs = 100;

export function backoffMs(failures: number, capMs: number): number {
  const full = Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
  return full / 2 + (Math.random() * full) / 2;
}
