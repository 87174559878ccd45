// Tokens that are not to be believed, and what is said about them.

import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identity } from '../../../services/http/identity.ts';
import { openOwnKeys, throwawayKeys, writeOperatorToken } from '../../../services/http/own-keys.ts';
import { allScopes } from '../../../services/http/scopes.ts';

const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
const stranger = await generateKeyPair('EdDSA');
const [issuer, audience] = ['https://id.example', 'fencepost'];
const identify = identity({ issuer, audience, algorithm: 'EdDSA', key: async () => publicKey });

interface Claims {
  readonly sub?: string;
  readonly iss?: string;
  readonly aud?: string;
  readonly exp?: number;
  readonly nbf?: number;
  readonly scope?: unknown;
}

const now = () => Math.floor(Date.now() / 1000);
const good = (): Claims => ({
  sub: 'ada',
  iss: issuer,
  aud: audience,
  exp: now() + 60,
  scope: 'deliveries:read other:scope',
});
const signed = (claims: Claims, key: Parameters<SignJWT['sign']>[0] = privateKey, alg = 'EdDSA') =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg }).sign(key);
const without = (name: keyof Claims) => {
  const { [name]: _, ...claims } = good();
  return claims;
};

const spki = new TextEncoder().encode(await exportSPKI(publicKey));
const rawPublic = Buffer.from((await exportJWK(publicKey)).x ?? '', 'base64url');

describe('a token', () => {
  it('says who asks and what they may do', async () => {
    const claims = good();
    const identified = await identify(`Bearer ${await signed(claims)}`);
    expect(identified).toEqual({
      principal: { sub: 'ada', scopes: new Set(['deliveries:read']) },
      // With what clocks may differ by.
      expiresAt: ((claims.exp ?? 0) + 5) * 1000,
    });
  });

  it('may have no scope at all', async () => {
    const identified = await identify(`bearer ${await signed(without('scope'))}`);
    expect(identified).toHaveProperty('principal', { sub: 'ada', scopes: new Set() });
  });

  it.each<[string, () => Promise<string> | string, string]>([
    ['expired', () => signed({ ...good(), exp: now() - 60 }), 'expired'],
    ['not valid yet', () => signed({ ...good(), nbf: now() + 60 }), 'not_yet_valid'],
    ['for another audience', () => signed({ ...good(), aud: 'other' }), 'wrong_audience'],
    ['of another issuer', () => signed({ ...good(), iss: 'https://evil' }), 'wrong_issuer'],
    ['without an end', () => signed(without('exp')), 'bad_claim'],
    ['without a subject', () => signed(without('sub')), 'bad_claim'],
    ['of an empty subject', () => signed({ ...good(), sub: '' }), 'bad_subject'],
    ['of a subject with NUL', () => signed({ ...good(), sub: 'a\u0000' }), 'bad_subject'],
    ['of a long subject', () => signed({ ...good(), sub: 'a'.repeat(201) }), 'bad_subject'],
    ['unsigned', () => new UnsecuredJWT({ ...good() }).encode(), 'wrong_algorithm'],
    [
      'signed with the public key as a secret',
      () => signed(good(), spki, 'HS256'),
      'wrong_algorithm',
    ],
    ['signed with its raw bytes', () => signed(good(), rawPublic, 'HS256'), 'wrong_algorithm'],
    ['signed by a stranger', () => signed(good(), stranger.privateKey), 'bad_signature'],
    ['cut off', async () => (await signed(good())).slice(0, -4), 'bad_signature'],
    ['no token', () => 'nonsense', 'malformed'],
    ['of other characters', () => 'a b', 'malformed'],
  ])('that is %s is nobody', async (_, token, fault) => {
    expect(await identify(`Bearer ${await token()}`)).toEqual({ fault });
  });

  it('is needed, and no other scheme takes its place', async () => {
    expect(await identify(undefined)).toEqual({ fault: 'missing' });
    expect(await identify('Basic YTpi')).toEqual({ fault: 'malformed' });
  });
});

describe('a token that was verified', () => {
  function counted() {
    const clock = { at: Date.now() };
    let verified = 0;
    const key = async () => {
      verified += 1;
      return publicKey;
    };
    const ask = identity({ issuer, audience, algorithm: 'EdDSA', key, now: () => clock.at });
    return { clock, ask, verified: () => verified };
  }

  it('is remembered for a minute, and then verified again', async () => {
    const { clock, ask, verified } = counted();
    const token = `Bearer ${await signed({ ...good(), exp: now() + 3600 })}`;
    const first = await ask(token);
    clock.at += 59_000;
    expect(await ask(token)).toEqual(first);
    expect(verified()).toBe(1);
    clock.at += 1000;
    expect(await ask(token)).toEqual(first);
    expect(verified()).toBe(2);
  });

  it('is not believed longer than it says', async () => {
    const { clock, ask } = counted();
    const token = `Bearer ${await signed({ ...good(), exp: now() + 10 })}`;
    expect(await ask(token)).toMatchObject({ principal: { sub: 'ada' } });
    clock.at += 16_000;
    expect(await ask(token)).toEqual({ fault: 'expired' });
  });

  it('is forgotten when a thousand others came', async () => {
    const { ask, verified } = counted();
    const tokens = await Promise.all(
      Array.from(
        { length: 1001 },
        async (_, i) => `Bearer ${await signed({ ...good(), sub: `${i}` })}`,
      ),
    );
    for (const token of tokens) await ask(token);
    await ask(tokens[1000]);
    expect(verified()).toBe(1001);
    await ask(tokens[0]);
    expect(verified()).toBe(1002);
  });

  it('is no help to one that is not', async () => {
    const { ask, verified } = counted();
    const token = await signed(good());
    await ask(`Bearer ${token}`);
    const cut = `Bearer ${token.slice(0, -4)}`;
    expect(await ask(cut)).toEqual({ fault: 'bad_signature' });
    expect(await ask(cut)).toEqual({ fault: 'bad_signature' });
    expect(verified()).toBe(3);
  });
});

describe("the service's own keys", () => {
  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'fencepost-keys-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    return join(path, '.fencepost');
  }

  it('are made once, whoever begins first, and only their owner can read them', async () => {
    const home = await folder();
    const [first, ...others] = await Promise.all(
      Array.from({ length: 8 }, () => openOwnKeys(home)),
    );
    const token = await first?.sign({ sub: 'ada', scopes: ['metrics:read'], seconds: 60 });
    for (const keys of [...others, await openOwnKeys(home)]) {
      expect(await keys.identify(`Bearer ${token}`)).toMatchObject({ principal: { sub: 'ada' } });
    }
    expect((await stat(join(home, 'identity.json'))).mode & 0o777).toBe(0o600);
  });

  it('leave a token of all scopes', async () => {
    const home = await folder();
    const keys = await openOwnKeys(home);
    const file = await writeOperatorToken(keys, home);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const token = (await readFile(file, 'utf8')).trim();
    expect(await keys.identify(`Bearer ${token}`)).toHaveProperty('principal', {
      ...{ sub: 'operator', scopes: new Set(allScopes) },
    });
    expect(await (await throwawayKeys()).identify(`Bearer ${token}`)).toEqual({
      fault: 'bad_signature',
    });
  });
});
