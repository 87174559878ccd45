// Tokens of an identity provider: its keys are fetched from where the configuration says.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OAuth2Server } from 'oauth2-mock-server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { identity, remoteKeys } from '../../../services/http/identity.ts';
import { ProblemError } from '../../../services/http/problem.ts';
import { useDatabase } from '../../support/database.ts';
import { spawnServer } from '../../support/server-process.ts';

const provider = new OAuth2Server();
const audience = 'fencepost';
let keysUrl: string;

beforeAll(async () => {
  await provider.issuer.keys.generate('RS256');
  await provider.start(0, '127.0.0.1');
  keysUrl = `http://127.0.0.1:${provider.address().port}/jwks`;
});
afterAll(() => provider.stop());

const identified = (algorithm = 'RS256', url = keysUrl) =>
  identity({ issuer: provider.issuer.url ?? '', audience, algorithm, key: remoteKeys(url) });

async function token(claims: Readonly<Record<string, unknown>> = {}, kid?: string) {
  const signed = await provider.issuer.buildToken({
    ...(kid !== undefined && { kid }),
    scopesOrTransform: (_header, payload) => {
      Object.assign(payload, { sub: 'ada', aud: audience, scope: 'metrics:read' }, claims);
    },
  });
  return `Bearer ${signed}`;
}

describe('a token of an identity provider', () => {
  it('is believed by the keys that the provider publishes', async () => {
    expect(await identified()(await token())).toHaveProperty('principal', {
      ...{ sub: 'ada', scopes: new Set(['metrics:read']) },
    });
  });

  it('is refused for another audience, another algorithm, and when it has expired', async () => {
    const identify = identified();
    expect(await identify(await token({ aud: 'other' }))).toEqual({ fault: 'wrong_audience' });
    expect(await identify(await token({ exp: 1 }))).toEqual({ fault: 'expired' });
    expect(await identify(await token({ iss: 'http://evil' }))).toEqual({ fault: 'wrong_issuer' });
    expect(await identified('ES256')(await token())).toEqual({ fault: 'wrong_algorithm' });
  });

  it('is refused when its key is not one of the published', async () => {
    const stranger = new OAuth2Server();
    await stranger.issuer.keys.generate('RS256');
    stranger.issuer.url = provider.issuer.url ?? '';
    const signed = await stranger.issuer.buildToken();
    expect(await identified()(`Bearer ${signed}`)).toEqual({ fault: 'unknown_key' });
  });

  it('cannot be judged while the provider is away: no fault of the token', async () => {
    const away = identified('RS256', 'http://127.0.0.1:9/jwks');
    const asked = away(await token());
    await expect(asked).rejects.toBeInstanceOf(ProblemError);
    await expect(asked).rejects.toMatchObject({
      problem: { kind: { code: 'identity_away', status: 503 } },
    });
  });
});

describe('a service that is told of an identity provider', () => {
  const databaseUrl = useDatabase();

  it('takes its tokens, refuses others, and signs none of its own', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fencepost-jwks-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const server = spawnServer(folder, {
      DATABASE_URL: databaseUrl(),
      SMTP_URL: 'smtp://127.0.0.1:9',
      AUTH_JWKS_URL: keysUrl,
      AUTH_ISSUER: provider.issuer.url ?? '',
      AUTH_AUDIENCE: audience,
    });
    onTestFinished(async () => {
      server.kill('SIGKILL');
      await server.ended;
    });
    const url = await server.url();
    const ask = (authorization: string, path = '/v1/machines') =>
      fetch(url + path, { headers: { authorization } });
    const scope = 'machines:read';
    expect((await ask(await token({ scope }))).status).toBe(200);
    expect((await ask(await token({ scope }), '/v1/deliveries')).status).toBe(403);
    const strange = await ask(await token({ scope, aud: 'other' }));
    expect(strange.status).toBe(401);
    expect(strange.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
    expect((await ask('Bearer nonsense')).status).toBe(401);
    const left = await readdir(join(folder, '.fencepost')).catch(() => []);
    expect(left).not.toContain('token');
    expect(left).not.toContain('identity.json');
  });
});
