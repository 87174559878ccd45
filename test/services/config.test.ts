import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../services/config.ts';

describe('readConfig', () => {
  it('needs no variable at all', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      auth: undefined,
      port: 3000,
      databaseUrl: undefined,
      smtpUrl: undefined,
      mailFrom: 'fencepost@fencepost.local',
      webhookSecret: undefined,
      webhookAllowedRanges: [],
      leaseMs: 300_000,
      heartbeatMs: 100_000,
      pollMs: 1000,
      reapMs: 5000,
      sendTimeoutMs: 30_000,
      shutdownGraceMs: 25_000,
      concurrency: 20,
      batch: 500,
      planLeaseMs: 120_000,
      connections: 10,
      planConcurrency: 5,
      toolTimeoutMs: 15_000,
      fourEyes: 'high-risk',
      previewTimeoutMs: 10_000,
      previewLockTimeoutMs: 500,
      branches: 'postgres',
      neon: { url: 'https://console.neon.tech/api/v2', key: '', project: '' },
      operationLeaseMs: 120_000,
      operationDeadlineMs: 1_800_000,
      logLevel: 'info',
    });
  });

  it('takes an empty variable for an absent one', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '' })).toMatchObject({ port: 3000 });
  });

  it('names every mistake at once, and prints no value', () => {
    const read = () =>
      readConfig({
        PORT: '70000',
        DATABASE_URL: 'mysql://me:secret@somewhere',
        SMTP_URL: 'secret',
        MAIL_FROM: 'a@example.com, b@example.com',
        POLL_MS: '1e3',
        LEASE_MS: '2000',
      });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(
      /PORT: .*\n.*DATABASE_URL: .*\n.*SMTP_URL: .*\n.*MAIL_FROM: .*\n.*POLL_MS/,
    );
    expect(read).not.toThrow(/secret/);
  });

  it.each(['NaN', '-1', 'Infinity', '5.5', '0x10', ' 5', '99999999999999999999'])(
    'refuses %o as a duration',
    (text) => {
      expect(() => readConfig({ LEASE_MS: text })).toThrow('LEASE_MS');
    },
  );

  it('refuses a send timeout that may outlast the lease', () => {
    expect(() => readConfig({ LEASE_MS: '30000' })).toThrow('SEND_TIMEOUT_MS: must be at most');
    expect(readConfig({ LEASE_MS: '45000' })).toMatchObject({ leaseMs: 45_000 });
  });

  it('refuses a heartbeat of more than half of the lease', () => {
    const beating = (ms: string) => readConfig({ LEASE_MS: '100000', HEARTBEAT_MS: ms });
    expect(() => beating('50001')).toThrow('HEARTBEAT_MS: must be at most half of LEASE_MS');
    expect(beating('50000')).toMatchObject({ heartbeatMs: 50_000 });
  });

  it('needs issuer and audience of whoever says who callers are', () => {
    const url = 'https://id.example/keys';
    expect(() => readConfig({ AUTH_JWKS_URL: url })).toThrow(/AUTH_ISSUER: .*\n.*AUTH_AUDIENCE/);
    const auth = { AUTH_JWKS_URL: url, AUTH_ISSUER: 'i', AUTH_AUDIENCE: 'a' };
    expect(readConfig(auth).auth).toEqual({
      jwksUrl: url,
      issuer: 'i',
      audience: 'a',
      algorithm: 'RS256',
    });
    expect(() => readConfig({ AUTH_ISSUER: 'i' })).toThrow('AUTH_JWKS_URL: is needed with');
    const both = { PORT: 'x', AUTH_JWKS_URL: url };
    expect(() => readConfig(both)).toThrow(/PORT: .*\n.*AUTH_ISSUER: .*\n.*AUTH_AUDIENCE/);
    expect(() => readConfig({ ...auth, AUTH_ALGORITHM: 'HS256' })).toThrow('AUTH_ALGORITHM');
  });

  it('says which words a variable may be', () => {
    const mistaken = { FOUR_EYES: 'maybe', LOG_LEVEL: 'loud' };
    expect(() => readConfig(mistaken)).toThrow(
      /FOUR_EYES: must be one of never, high-risk, always\n.*LOG_LEVEL: must be one of fatal/,
    );
  });

  it('listens elsewhere only where it is told an address', () => {
    expect(readConfig({ HOST: '::' })).toMatchObject({ host: '::' });
    expect(() => readConfig({ HOST: 'example.com' })).toThrow('HOST: must be an IP address');
  });

  it('refuses a deadline of tools that is not below that of statements', () => {
    const tools = (lease: string, tool: string) =>
      readConfig({ PLAN_LEASE_MS: lease, TOOL_TIMEOUT_MS: tool });
    expect(() => tools('60000', '10000')).toThrow('TOOL_TIMEOUT_MS: must be less than a sixth');
    expect(() => tools('240000', '20000')).toThrow('TOOL_TIMEOUT_MS');
    expect(tools('60000', '9000')).toMatchObject({ planLeaseMs: 60_000, toolTimeoutMs: 9000 });
  });

  it('takes ranges with commas and blanks between them', () => {
    const { webhookAllowedRanges } = readConfig({ WEBHOOK_ALLOWED_RANGES: '10.0.0.0/8, ::1/128' });
    expect(webhookAllowedRanges).toEqual(['10.0.0.0/8', '::1/128']);
  });

  it('has branches where the databases are its own, or where it is told so', () => {
    const given = { DATABASE_URL: 'postgres://127.0.0.1/fencepost' };
    expect(readConfig(given).branches).toBe('none');
    expect(readConfig({ ...given, BRANCHES: 'postgres' }).branches).toBe('postgres');
    const neon = { NEON_API_KEY: 'secret', NEON_PROJECT_ID: 'quiet-field' };
    expect(readConfig({ ...given, ...neon }).branches).toBe('neon');
    const read = () => readConfig({ NEON_API_KEY: 'secret' });
    expect(read).toThrow('NEON_PROJECT_ID');
    expect(read).not.toThrow(/secret/);
  });
});
