// The SQLSTATEs that this code tells apart, by name. Errors of Postgres are never told apart by
// their message. Source: PostgreSQL manual, Appendix A, Error Codes.

export const sqlstate = {
  deadlockDetected: '40P01',
  serializationFailure: '40001',
  lockNotAvailable: '55P03',
  checkViolation: '23514',
  uniqueViolation: '23505',
  notNullViolation: '23502',
} as const;

/** The SQLSTATE of an error that Postgres sent; undefined for any other error. */
export function sqlstateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error
    ? error.code
    : undefined;
}

/**
 * One of the row's values is at fault (class 22), breaks a constraint or guard (class 23), is too
 * large for an index (54000), or was refused by somebody's own trigger (P0001).
 */
export const blamesRow = (error: unknown): boolean =>
  /^(2[23]|54000|P0001)/.test(sqlstateOf(error) ?? '');

/** Somebody else holds a lock for longer than a transaction waits. */
export const isLockTimeout = (error: unknown): boolean =>
  sqlstateOf(error) === sqlstate.lockNotAvailable;

/** Postgres hangs up after it: a shutdown, an administrator, an exceeded limit of time. */
export const hangsUp = (state: string): boolean => /^(08|57P|25P0[34])/.test(state);

/** The same transaction may succeed when it is run again. */
export const mayPass = (error: unknown): boolean => {
  const state = sqlstateOf(error);
  return state === sqlstate.deadlockDetected || state === sqlstate.serializationFailure;
};
