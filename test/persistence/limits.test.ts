import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkLimits,
  defaultLimits,
  type Limits,
  LimitsError,
  limitsBelow,
  limitsText,
} from '../../persistence/limits.ts';

const leaseMs = 300_000;

describe('checkLimits', () => {
  it('passes the default limits under the default lease of five minutes', () => {
    expect(() => checkLimits(defaultLimits, leaseMs)).not.toThrow();
  });

  it.each<[string, Partial<Limits>, number]>([
    ['a lock beyond the statement', { lockMs: 20_001 }, leaseMs],
    ['a statement as long as the idle time', { statementMs: 30_000 }, leaseMs],
    ['an idle time as long as the transaction', { idleMs: 60_000 }, leaseMs],
    ['a transaction as long as the lease', {}, 60_000],
    ['no limit at all for the lock', { lockMs: 0 }, leaseMs],
    ['a negative limit', { lockMs: -1 }, leaseMs],
    ['half a millisecond', { lockMs: 0.5 }, leaseMs],
    ['no number', { lockMs: Number.NaN }, leaseMs],
    ['an endless transaction', { transactionMs: Number.POSITIVE_INFINITY }, leaseMs],
    ['an endless lease', {}, Number.POSITIVE_INFINITY],
  ])('refuses %s', (_, changed, lease) => {
    expect(() => checkLimits({ ...defaultLimits, ...changed }, lease)).toThrow(LimitsError);
  });

  it('lets the lock wait as long as its statement', () => {
    expect(() => checkLimits({ ...defaultLimits, lockMs: 20_000 }, leaseMs)).not.toThrow();
  });

  it('says the order and the numbers', () => {
    expect(() => checkLimits(defaultLimits, 1000)).toThrow(
      'lock ≤ statement < idle < transaction < lease; they are 10000, 20000, 30000, 60000, 1000',
    );
  });
});

describe('limitsBelow', () => {
  it('leaves the default limits where the lease allows for them', () => {
    expect(limitsBelow(120_000)).toEqual(defaultLimits);
    expect(limitsBelow(leaseMs)).toEqual(defaultLimits);
  });

  it('is in order for every lease from 8 ms on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 10_000_000 }), (lease) => {
        expect(() => checkLimits(limitsBelow(lease), lease)).not.toThrow();
      }),
      { numRuns: 2000, verbose: true },
    );
  });
});

describe('limitsText', () => {
  it('sets everything locally, and transaction_timeout only where it exists', () => {
    expect(limitsText(defaultLimits, 170_000)).toBe(
      'set local lock_timeout = 10000; set local statement_timeout = 20000; ' +
        'set local idle_in_transaction_session_timeout = 30000; ' +
        'set local transaction_timeout = 60000',
    );
    expect(limitsText(defaultLimits, 160_009)).not.toContain('transaction_timeout');
  });
});
