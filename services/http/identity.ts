// Who asks: bearer tokens (RFC 6750) that are JWTs, verified by one key or one set of keys.
//
// - Issuer, audience and algorithm are fixed by the configuration, never taken from the token: one
//   that is unsigned, or signed with the public key as a secret, is refused before its signature
//   is looked at.
// - What is wrong with a token is said by a code in WWW-Authenticate and nowhere else.
// - Scopes that are not ours are passed over: a token may serve other services too.
// - Whom a token is of is remembered until it expires, and for a minute at most: a key that was
//   withdrawn is believed no longer than that. Verifying was a tenth of the time of a small save.

import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { textFault } from '../../persistence/text.ts';
import { frame, type Problem, ProblemError, problem } from './problem.ts';
import type { Principal } from './route.ts';
import { isScope } from './scopes.ts';

type TokenFault =
  | 'missing'
  | 'malformed'
  | 'expired'
  | 'not_yet_valid'
  | 'wrong_audience'
  | 'wrong_issuer'
  | 'wrong_algorithm'
  | 'unknown_key'
  | 'bad_signature'
  | 'bad_subject'
  | 'bad_claim';

export type Identified =
  | {
      readonly principal: Principal;
      /** From then on the token is nobody's, in milliseconds since 1970. */
      readonly expiresAt: number;
    }
  /** Nobody that is known. */
  | { readonly fault: TokenFault };

/** @throws ProblemError `identity_away` when the keys cannot be had. */
export type Identify = (authorization: string | undefined) => Promise<Identified>;

export interface IdentityOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithm: string;
  readonly key: JWTVerifyGetKey;
  /** The time in milliseconds since 1970; Date.now by default. */
  readonly now?: () => number;
}

/** Clocks of two machines differ by so much. */
const toleranceSeconds = 5;
const longestSubject = 200;
const keysTimeoutMs = 5000;
const rememberedMs = 60_000;
const mostRemembered = 1000;
const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The keys at a URL, fetched when they are needed and kept. */
export const remoteKeys = (url: string): JWTVerifyGetKey =>
  createRemoteJWKSet(new URL(url), { timeoutDuration: keysTimeoutMs });

const faults: Readonly<Record<string, TokenFault>> = {
  [errors.JWTExpired.code]: 'expired',
  [errors.JOSEAlgNotAllowed.code]: 'wrong_algorithm',
  [errors.JOSENotSupported.code]: 'wrong_algorithm',
  [errors.JWKSNoMatchingKey.code]: 'unknown_key',
  [errors.JWKSMultipleMatchingKeys.code]: 'unknown_key',
  [errors.JWSSignatureVerificationFailed.code]: 'bad_signature',
  [errors.JWSInvalid.code]: 'malformed',
  [errors.JWTInvalid.code]: 'malformed',
};

const claimFaults: Readonly<Record<string, TokenFault>> = {
  aud: 'wrong_audience',
  iss: 'wrong_issuer',
  nbf: 'not_yet_valid',
};

function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTClaimValidationFailed) {
    return claimFaults[error.claim] ?? 'bad_claim';
  }
  const fault = error instanceof errors.JOSEError ? faults[error.code] : undefined;
  if (fault) return fault;
  throw new ProblemError(
    problem(frame.identityAway, 'The keys of the identity provider cannot be had. Try again.'),
  );
}

function identifiedBy({ sub, scope, exp = 0 }: JWTPayload): Identified {
  if (typeof sub !== 'string' || sub === '' || sub.length > longestSubject || textFault(sub)) {
    return { fault: 'bad_subject' };
  }
  const words = typeof scope === 'string' ? scope.split(' ') : [];
  const expiresAt = (exp + toleranceSeconds) * 1000;
  return { principal: { sub, scopes: new Set(words.filter(isScope)) }, expiresAt };
}

/** Values until a time, so many at most: the oldest goes. */
function memory<V>(most: number, now: () => number) {
  const kept = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(key: string): V | undefined {
      const found = kept.get(key);
      if (found && now() < found.until) return found.value;
      kept.delete(key);
      return undefined;
    },
    keep(key: string, value: V, until: number): void {
      const [oldest] = kept.size < most ? [] : kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(key, { value, until });
    },
  };
}

/** Makes what reads the field Authorization. */
export function identity(options: IdentityOptions): Identify {
  const { issuer, audience, algorithm, key, now = Date.now } = options;
  const known = memory<Identified>(mostRemembered, now);
  return async (authorization) => {
    if (authorization === undefined) return { fault: 'missing' };
    const token = bearer.exec(authorization)?.[1];
    if (token === undefined) return { fault: 'malformed' };
    const remembered = known.get(token);
    if (remembered) return remembered;
    try {
      const at = now();
      const { payload } = await jwtVerify(token, key, {
        issuer,
        audience,
        algorithms: [algorithm],
        requiredClaims: ['sub', 'exp'],
        clockTolerance: toleranceSeconds,
        currentDate: new Date(at),
      });
      const identified = identifiedBy(payload);
      if ('principal' in identified) {
        known.keep(token, identified, Math.min(identified.expiresAt, at + rememberedMs));
      }
      return identified;
    } catch (error) {
      return { fault: faultOf(error) };
    }
  };
}

/** What a stranger is told. Source: RFC 6750, 3 The WWW-Authenticate Response Header Field. */
export function unauthenticated(fault: TokenFault): Problem {
  const reason = fault === 'missing' ? '' : `, error="invalid_token", error_description="${fault}"`;
  return problem(
    frame.unauthenticated,
    'Send a token: authorization: Bearer <token>. WWW-Authenticate says what is wrong with it.',
    { headers: { 'WWW-Authenticate': `Bearer realm="fencepost"${reason}` } },
  );
}

export const insufficientScope = (scope: string): Problem =>
  problem(frame.insufficientScope, `A token with the scope ${scope} is needed.`, {
    members: { scope },
    headers: {
      'WWW-Authenticate': `Bearer realm="fencepost", error="insufficient_scope", scope="${scope}"`,
    },
  });
