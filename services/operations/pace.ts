// The times of operations, and whether they go together. server.ts reads them; the worker keeps
// them.

import type { Pace } from '../runs/work.ts';

export interface OperationTimes {
  readonly leaseMs: number;
  /** From the first asking until nobody waits for it any more. */
  readonly deadlineMs: number;
  /** Between the commit of the intent and the first byte of the call, by the monotonic clock. */
  readonly sendWindowMs: number;
}

const usualWindowMs = 10_000;
const usualCallMs = 30_000;

/** The times that go with a lease; those of a short one are short. */
export const timesFor = (leaseMs: number, deadlineMs: number): OperationTimes => ({
  leaseMs,
  deadlineMs,
  sendWindowMs: Math.min(usualWindowMs, Math.floor(leaseMs / 12)),
});

/** How long a call of a provider over HTTP may take, under a lease. */
export const callTimeoutFor = (leaseMs: number): number =>
  Math.min(usualCallMs, Math.floor(leaseMs / 4));

/** The longest wait without a sign of life of its own. */
export const sliceOf = ({ leaseMs }: OperationTimes): number => Math.ceil(leaseMs / 4);

/** Operations are few and slow: each is polled by itself, and none is claimed ahead. */
export const paceOf = ({ leaseMs }: OperationTimes, pollMs: number): Pace => ({
  leaseMs,
  heartbeatMs: Math.floor(leaseMs / 4),
  timeoutMs: Math.floor((leaseMs * 3) / 4),
  pollMs,
  concurrency: 20,
  batch: 1,
});

/** Times of operations that do not go together. The process does not start. */
export class OperationTimesError extends Error {
  override readonly name = 'OperationTimesError';
  readonly code = 'operation_times';
}

/**
 * @throws OperationTimesError unless a wait and a call fit into a handler's time limit, which is
 * three quarters of the lease.
 */
export function checkTimes(times: OperationTimes, providerTimeoutMs: number): void {
  const { leaseMs, sendWindowMs } = times;
  const needed = sliceOf(times) + Math.max(sendWindowMs, 0) + providerTimeoutMs;
  if (needed <= (leaseMs * 3) / 4) return;
  throw new OperationTimesError(
    `a lease of ${leaseMs} ms is too short for a provider that may take ${providerTimeoutMs} ms ` +
      `and a send window of ${sendWindowMs} ms`,
  );
}
