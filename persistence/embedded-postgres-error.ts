/**
 * The one error that the embedded database throws. Everything that starts it imports this.
 *
 * - `code` says which of the known reasons it is; the message says what to do about it.
 * - `holder` is there exactly when the code is `already_running`.
 */
import type { LockHolder } from './embedded-lock.ts';

export type EmbeddedPostgresErrorCode =
  | 'unsupported_platform'
  | 'binaries_missing'
  | 'data_dir_unreachable'
  | 'already_running'
  | 'start_failed'
  | 'init_failed';

export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly code: EmbeddedPostgresErrorCode;
  readonly holder: LockHolder | undefined;

  constructor(
    code: EmbeddedPostgresErrorCode,
    message: string,
    details: { readonly cause?: unknown; readonly holder?: LockHolder } = {},
  ) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.holder = details.holder;
  }
}
