import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../services/config.ts';

describe('readConfig', () => {
  it('needs no variable at all', () => {
    expect(readConfig({})).toEqual({
      port: 3000,
      databaseUrl: undefined,
      smtpUrl: undefined,
      mailFrom: 'fencepost@fencepost.local',
      leaseMs: 300_000,
      pollMs: 1000,
      reapMs: 5000,
      sendTimeoutMs: 30_000,
      shutdownGraceMs: 25_000,
      concurrency: 10,
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

  it('refuses a send timeout that is not below the lease', () => {
    expect(() => readConfig({ LEASE_MS: '30000' })).toThrow('must be less than LEASE_MS');
    expect(readConfig({ LEASE_MS: '30001' })).toMatchObject({ leaseMs: 30_001 });
  });
});
