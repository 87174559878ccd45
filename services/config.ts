// The configuration, from environment variables. server.ts reads it once; everything else is told.
//
// - Every mistake is reported at once, by the variable's name. An empty variable is an absent one.
// - Values are never printed: an address may carry a password.
// - Without a HOST the service listens on the loopback interface and nowhere else.

import { z } from 'zod';
import { limitsBelow } from '../persistence/limits.ts';

/** The loopback interface: what is for this machine listens here, whatever HOST says. */
export const host = '127.0.0.1';

interface Whole {
  readonly fallback: number;
  readonly least: number;
  readonly most: number;
}

/** Digits only: Number() also takes '0x10', '1e3' and '' for numbers. */
const digits = ({ least, most }: Pick<Whole, 'least' | 'most'>) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int(`must be from ${least} to ${most}`).min(least).max(most));
const whole = (range: Whole) => digits(range).default(range.fallback);

const day = 86_400_000;
const millisecondsFrom = (least: number, fallback: number) => whole({ fallback, least, most: day });
const optionalMilliseconds = digits({ least: 10, most: day }).optional();

/** Whether times can be compared: each of them was read. */
const timesAreKnown = ({ value, issues }: z.core.ParsePayload): boolean =>
  typeof value === 'object' && !issues.some(({ path }) => /_MS$/.test(String(path?.[0])));

/** Also beside other mistakes, so that all are told at once. */
const always = ({ value }: z.core.ParsePayload): boolean => typeof value === 'object';

const address = (protocols: readonly string[]) =>
  z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      error: `must be an address that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    })
    .optional();

const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

interface Beating {
  readonly LEASE_MS: number;
  readonly HEARTBEAT_MS?: number | undefined;
}
const heartbeatOf = ({ LEASE_MS, HEARTBEAT_MS = Math.floor(LEASE_MS / 3) }: Beating): number =>
  HEARTBEAT_MS;

/** Signatures by a private key: one by a shared secret could be made by whoever verifies it. */
const signatures = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

interface Auth {
  readonly AUTH_JWKS_URL?: string | undefined;
  readonly AUTH_ISSUER?: string | undefined;
  readonly AUTH_AUDIENCE?: string | undefined;
  readonly AUTH_ALGORITHM?: (typeof signatures)[number] | undefined;
}

/** Who says who callers are; undefined: the service itself, by a key of its own. */
const authOf = ({ AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE, AUTH_ALGORITHM }: Auth) =>
  AUTH_JWKS_URL === undefined
    ? undefined
    : {
        jwksUrl: AUTH_JWKS_URL,
        issuer: AUTH_ISSUER ?? '',
        audience: AUTH_AUDIENCE ?? '',
        algorithm: AUTH_ALGORITHM ?? 'RS256',
      };

const neonUrl = 'https://console.neon.tech/api/v2';

interface Branching {
  readonly BRANCHES?: 'postgres' | 'neon' | 'none' | undefined;
  readonly NEON_API_KEY?: string | undefined;
  readonly DATABASE_URL?: string | undefined;
}
/** In a Postgres of somebody else's, databases are theirs to make unless it is said otherwise. */
const branchesOf = ({ BRANCHES, NEON_API_KEY, DATABASE_URL }: Branching) => {
  if (BRANCHES) return BRANCHES;
  if (NEON_API_KEY) return 'neon';
  return DATABASE_URL === undefined ? 'postgres' : 'none';
};

/** Each variable by itself. config-text.ts says what it is for. */
export const variables = z.object({
  HOST: z.union([z.ipv4(), z.ipv6()], 'must be an IP address').default(host),
  PORT: whole({ fallback: 3000, least: 0, most: 65_535 }),
  DATABASE_URL: address(['postgres:', 'postgresql:']),
  CONNECTIONS: whole({ fallback: 10, least: 1, most: 1000 }),
  SMTP_URL: address(['smtp:', 'smtps:']),
  MAIL_FROM: z
    .email({ pattern: z.regexes.html5Email, error: 'must be one mail address' })
    .default('fencepost@fencepost.local'),
  LEASE_MS: millisecondsFrom(1000, 300_000),
  POLL_MS: millisecondsFrom(10, 1000),
  REAP_MS: millisecondsFrom(10, 5000),
  SEND_TIMEOUT_MS: millisecondsFrom(100, 30_000),
  WEBHOOK_SECRET: z.string().optional(),
  WEBHOOK_ALLOWED_RANGES: z.string().default(''),
  SHUTDOWN_GRACE_MS: millisecondsFrom(0, 25_000),
  CONCURRENCY: whole({ fallback: 20, least: 1, most: 1000 }),
  BATCH: whole({ fallback: 500, least: 1, most: 10_000 }),
  HEARTBEAT_MS: optionalMilliseconds,
  AUTH_JWKS_URL: address(['https:', 'http:']),
  AUTH_ISSUER: z.string().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_ALGORITHM: oneOf(signatures).optional(),
  PLAN_LEASE_MS: millisecondsFrom(1000, 120_000),
  PLAN_CONCURRENCY: whole({ fallback: 5, least: 1, most: 1000 }),
  TOOL_TIMEOUT_MS: millisecondsFrom(10, 15_000),
  FOUR_EYES: oneOf(['never', 'high-risk', 'always']).default('high-risk'),
  PREVIEW_TIMEOUT_MS: whole({ fallback: 10_000, least: 100, most: 60_000 }),
  PREVIEW_LOCK_TIMEOUT_MS: whole({ fallback: 500, least: 1, most: 60_000 }),
  BRANCHES: oneOf(['postgres', 'neon', 'none']).optional(),
  NEON_API_KEY: z.string().optional(),
  NEON_PROJECT_ID: z.string().optional(),
  NEON_API_URL: address(['https:', 'http:']),
  OPERATION_LEASE_MS: millisecondsFrom(10_000, 120_000),
  OPERATION_DEADLINE_MS: millisecondsFrom(1000, 1_800_000),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug']).default('info'),
});

const environment = variables
  // A send that may outlast its lease is one that a second worker repeats while it runs.
  .refine((env) => env.SEND_TIMEOUT_MS <= env.LEASE_MS - heartbeatOf(env), {
    path: ['SEND_TIMEOUT_MS'],
    error: 'must be at most LEASE_MS less HEARTBEAT_MS',
    when: timesAreKnown,
  })
  // A lease that may lapse before its second renewal is one that a slow moment loses.
  .refine((env) => heartbeatOf(env) <= env.LEASE_MS / 2, {
    path: ['HEARTBEAT_MS'],
    error: 'must be at most half of LEASE_MS',
    when: timesAreKnown,
  })
  .refine(({ AUTH_JWKS_URL: url, AUTH_ISSUER: issuer }) => url === undefined || issuer, {
    path: ['AUTH_ISSUER'],
    error: 'is needed with AUTH_JWKS_URL',
    when: always,
  })
  .refine(({ AUTH_JWKS_URL: url, AUTH_AUDIENCE: audience }) => url === undefined || audience, {
    path: ['AUTH_AUDIENCE'],
    error: 'is needed with AUTH_JWKS_URL',
    when: always,
  })
  .refine(
    ({ AUTH_JWKS_URL: url, ...env }) =>
      url || (!env.AUTH_ISSUER && !env.AUTH_AUDIENCE && !env.AUTH_ALGORITHM),
    {
      path: ['AUTH_JWKS_URL'],
      error: 'is needed with AUTH_ISSUER, AUTH_AUDIENCE and AUTH_ALGORITHM',
      when: always,
    },
  )
  // A tool that outlasts a statement is one whose late statement nobody waits for.
  .refine((env) => env.TOOL_TIMEOUT_MS < limitsBelow(env.PLAN_LEASE_MS).statementMs, {
    path: ['TOOL_TIMEOUT_MS'],
    error: 'must be less than a sixth of PLAN_LEASE_MS, and less than 20000',
    when: timesAreKnown,
  })
  // A key alone would go to whatever project is guessed.
  .refine((env) => branchesOf(env) !== 'neon' || (env.NEON_API_KEY && env.NEON_PROJECT_ID), {
    path: ['NEON_PROJECT_ID'],
    error: 'and NEON_API_KEY are both needed for the branches of Neon',
  })
  .transform((env) => ({
    host: env.HOST,
    auth: authOf(env),
    port: env.PORT,
    databaseUrl: env.DATABASE_URL,
    smtpUrl: env.SMTP_URL,
    mailFrom: env.MAIL_FROM,
    webhookSecret: env.WEBHOOK_SECRET,
    webhookAllowedRanges: env.WEBHOOK_ALLOWED_RANGES.split(/[\s,]+/).filter(
      (range) => range !== '',
    ),
    leaseMs: env.LEASE_MS,
    heartbeatMs: heartbeatOf(env),
    pollMs: env.POLL_MS,
    reapMs: env.REAP_MS,
    sendTimeoutMs: env.SEND_TIMEOUT_MS,
    shutdownGraceMs: env.SHUTDOWN_GRACE_MS,
    concurrency: env.CONCURRENCY,
    batch: env.BATCH,
    planLeaseMs: env.PLAN_LEASE_MS,
    planConcurrency: env.PLAN_CONCURRENCY,
    toolTimeoutMs: env.TOOL_TIMEOUT_MS,
    fourEyes: env.FOUR_EYES,
    previewTimeoutMs: env.PREVIEW_TIMEOUT_MS,
    previewLockTimeoutMs: env.PREVIEW_LOCK_TIMEOUT_MS,
    branches: branchesOf(env),
    neon: {
      url: (env.NEON_API_URL ?? neonUrl).replace(/\/+$/, ''),
      key: env.NEON_API_KEY ?? '',
      project: env.NEON_PROJECT_ID ?? '',
    },
    operationLeaseMs: env.OPERATION_LEASE_MS,
    operationDeadlineMs: env.OPERATION_DEADLINE_MS,
    connections: env.CONNECTIONS,
    logLevel: env.LOG_LEVEL,
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
