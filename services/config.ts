// The configuration, from environment variables. server.ts reads it once; everything else is told.
//
// - Every mistake is reported at once, by the variable's name. An empty variable is an absent one.
// - Values are never printed: an address may carry a password.
// - There is no HOST: the service has no identity check of its own, so it listens on the loopback
//   interface and nowhere else.

import { z } from 'zod';

export const host = '127.0.0.1';

interface Whole {
  readonly fallback: number;
  readonly least: number;
  readonly most: number;
}

/** Digits only: Number() also takes '0x10', '1e3' and '' for numbers. */
const whole = ({ fallback, least, most }: Whole) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int(`must be from ${least} to ${most}`).min(least).max(most))
    .default(fallback);

const day = 86_400_000;
const millisecondsFrom = (least: number, fallback: number) => whole({ fallback, least, most: day });

const address = (protocols: readonly string[]) =>
  z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      error: `must be an address that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    })
    .optional();

const environment = z
  .object({
    PORT: whole({ fallback: 3000, least: 0, most: 65_535 }),
    DATABASE_URL: address(['postgres:', 'postgresql:']),
    SMTP_URL: address(['smtp:', 'smtps:']),
    MAIL_FROM: z
      .email({ pattern: z.regexes.html5Email, error: 'must be one mail address' })
      .default('fencepost@fencepost.local'),
    LEASE_MS: millisecondsFrom(1000, 300_000),
    POLL_MS: millisecondsFrom(10, 1000),
    REAP_MS: millisecondsFrom(10, 5000),
    SEND_TIMEOUT_MS: millisecondsFrom(100, 30_000),
    SHUTDOWN_GRACE_MS: millisecondsFrom(0, 25_000),
    CONCURRENCY: whole({ fallback: 10, least: 1, most: 1000 }),
  })
  // A send that may outlast its lease is one that a second worker repeats while it runs.
  .refine((env) => env.SEND_TIMEOUT_MS < env.LEASE_MS, {
    path: ['SEND_TIMEOUT_MS'],
    error: 'must be less than LEASE_MS',
    when: ({ value, issues }) =>
      typeof value === 'object' && !issues.some(({ path }) => /_MS$/.test(String(path?.[0]))),
  })
  .transform((env) => ({
    port: env.PORT,
    databaseUrl: env.DATABASE_URL,
    smtpUrl: env.SMTP_URL,
    mailFrom: env.MAIL_FROM,
    leaseMs: env.LEASE_MS,
    pollMs: env.POLL_MS,
    reapMs: env.REAP_MS,
    sendTimeoutMs: env.SEND_TIMEOUT_MS,
    shutdownGraceMs: env.SHUTDOWN_GRACE_MS,
    concurrency: env.CONCURRENCY,
  }));

export type Config = z.output<typeof environment>;

/** The environment has mistakes; the message names all of them. The process does not start. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'bad_configuration';
}

/** @throws ConfigError */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const read = environment.safeParse(given);
  if (read.success) return read.data;
  const lines = read.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
  throw new ConfigError(`The configuration has mistakes:\n${lines.join('\n')}`);
}
