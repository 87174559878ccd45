// The limits of every transaction. A locked row is a live owner, so an owner that stalled with an
// open transaction must die by itself: nobody else can tell it from one that works.
//
// - They go with BEGIN as SET LOCAL, never as session settings or start-up parameters: behind a
//   pooler the one would leak to another client and the other is refused (08P01).
// - The order is: statement < idle < transaction < lease. In any other a run could be lapsed, and
//   claimed by a successor that then waits for a lock, while its owner is still within its limits.
//   Source: PostgreSQL manual, 19.11.1 Statement Behavior.

export interface Limits {
  readonly lockMs: number;
  readonly statementMs: number;
  readonly idleMs: number;
  readonly transactionMs: number;
}

export const defaultLimits: Limits = {
  lockMs: 10_000,
  statementMs: 20_000,
  idleMs: 30_000,
  transactionMs: 60_000,
};

/** Limits that do not go together. The process does not start. */
export class LimitsError extends Error {
  override readonly name = 'LimitsError';
  readonly code = 'limits_out_of_order';
}

/** @throws LimitsError unless 0 < lock ≤ statement < idle < transaction < lease, in whole ms. */
export function checkLimits(limits: Limits, leaseMs: number): void {
  const { lockMs, statementMs, idleMs, transactionMs } = limits;
  const whole = [lockMs, statementMs, idleMs, transactionMs, leaseMs].every(
    (ms) => Number.isSafeInteger(ms) && ms > 0,
  );
  const ordered =
    lockMs <= statementMs &&
    statementMs < idleMs &&
    idleMs < transactionMs &&
    transactionMs < leaseMs;
  if (whole && ordered) return;
  throw new LimitsError(
    'limits must be whole milliseconds, lock ≤ statement < idle < transaction < lease; they are ' +
      [lockMs, statementMs, idleMs, transactionMs, leaseMs].join(', '),
  );
}

/** The SET LOCALs, in one text. transaction_timeout exists from Postgres 17 on. */
export function limitsText(limits: Limits, serverVersion: number): string {
  return [
    `set local lock_timeout = ${limits.lockMs}`,
    `set local statement_timeout = ${limits.statementMs}`,
    `set local idle_in_transaction_session_timeout = ${limits.idleMs}`,
    ...(serverVersion >= 170_000
      ? [`set local transaction_timeout = ${limits.transactionMs}`]
      : []),
  ].join('; ');
}

/** The default limits, shortened where the lease is shorter than they allow for. */
export function limitsBelow(leaseMs: number): Limits {
  const share = Math.min(1, leaseMs / 2 / defaultLimits.transactionMs);
  const scaled = (ms: number) => Math.max(1, Math.floor(ms * share));
  return {
    lockMs: scaled(defaultLimits.lockMs),
    statementMs: scaled(defaultLimits.statementMs),
    idleMs: scaled(defaultLimits.idleMs),
    transactionMs: scaled(defaultLimits.transactionMs),
  };
}
