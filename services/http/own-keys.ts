// A key pair of our own, for a service without an identity provider: it signs tokens and verifies
// them. server.ts opens it where no AUTH_JWKS_URL is configured; `npm run token` signs with it.
//
// - The private key and the token lie in files that only their owner may read (mode 0600). Who can
//   read them is everybody that the service knows.
// - Of several processes that begin at once on an empty folder one makes the key; all use it.

import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { z } from 'zod';
import { type Identify, identity } from './identity.ts';
import { allScopes, type Scope } from './scopes.ts';

const algorithm = 'EdDSA';
const name = 'fencepost';
const ownerOnly = 0o600;
/** Whom the token of all scopes is for. */
const operator = 'operator';
const operatorDays = 90;
const secondsOfDay = 86_400;

const keyFile = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  d: z.string(),
});

export interface Token {
  readonly sub: string;
  readonly scopes: readonly Scope[];
  readonly seconds: number;
}

export interface OwnKeys {
  readonly identify: Identify;
  sign(token: Token): Promise<string>;
}

async function make(file: string): Promise<void> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const own = `${file}.${randomUUID()}`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(own, `${JSON.stringify(await exportJWK(privateKey))}\n`, { mode: ownerOnly });
  try {
    // Unlike a rename, a link does not take the place of another process's key.
    await link(own, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(own, { force: true });
  }
}

async function readKey(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await make(file);
    return await readFile(file, 'utf8');
  }
}

async function keysOf(jwk: JWK & { readonly d: string }): Promise<OwnKeys> {
  const { d, ...publicJwk } = jwk;
  const [privateKey, publicKey] = [
    await importJWK({ ...publicJwk, d }, algorithm),
    await importJWK(publicJwk, algorithm),
  ];
  if (publicKey instanceof Uint8Array) throw new Error('a public key cannot be a secret');
  return {
    identify: identity({ issuer: name, audience: name, algorithm, key: async () => publicKey }),
    async sign({ sub, scopes, seconds }) {
      return await new SignJWT({ scope: scopes.join(' ') })
        .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
        .setIssuer(name)
        .setAudience(name)
        .setSubject(sub)
        .setIssuedAt()
        .setExpirationTime(`${seconds}s`)
        .sign(privateKey);
    },
  };
}

/** Keys that are in memory only. */
export async function throwawayKeys(): Promise<OwnKeys> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return await keysOf(keyFile.parse(await exportJWK(privateKey)));
}

/**
 * Opens the key pair in a folder, and makes it first if there is none.
 * @throws the system's error for a file that cannot be read or written; ZodError or SyntaxError for
 * one that holds no key.
 */
export async function openOwnKeys(folder: string): Promise<OwnKeys> {
  return await keysOf(keyFile.parse(JSON.parse(await readKey(join(folder, 'identity.json')))));
}

/** Writes a new token of all scopes to the file `token` of the folder. Returns the file's path. */
export async function writeOperatorToken(keys: OwnKeys, folder: string): Promise<string> {
  const token = await keys.sign({
    sub: operator,
    scopes: allScopes,
    seconds: operatorDays * secondsOfDay,
  });
  const file = join(folder, 'token');
  const own = `${file}.${randomUUID()}`;
  await writeFile(own, `${token}\n`, { mode: ownerOnly });
  await chmod(own, ownerOnly);
  await rename(own, file);
  return file;
}
