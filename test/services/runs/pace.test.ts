import { describe, expect, it } from 'vitest';
import { checkPace, checkRenewal, type Pace, PaceError } from '../../../services/runs/work.ts';
import { calm, sending } from '../../support/runs.ts';

const refusal = (changed: Partial<Pace>) => {
  try {
    checkPace({ ...calm, ...changed });
  } catch (error) {
    return error instanceof PaceError ? error.code : error;
  }
  return undefined;
};

describe('checkPace', () => {
  it('takes a heartbeat of half of the lease, and a time limit of the other half', () => {
    expect(refusal({ heartbeatMs: 30_000, timeoutMs: 30_000 })).toBeUndefined();
  });

  it('refuses a heartbeat that a single slow moment would make too late', () => {
    expect(refusal({ heartbeatMs: 30_001 })).toBe('heartbeat_too_long');
    expect(refusal({ heartbeatMs: 60_000 })).toBe('heartbeat_too_long');
  });

  it('refuses a time limit that may outlast the lease, or leaves no time to begin', () => {
    expect(refusal({ timeoutMs: 60_000 })).toBe('timeout_too_long');
    expect(refusal({ timeoutMs: 40_001 })).toBe('timeout_too_long');
    expect(refusal({ timeoutMs: 40_000 })).toBeUndefined();
  });

  const names = Object.keys(calm) as readonly (keyof Pace)[];
  const wrong = [Number.NaN, -1, 0, 0.5, Number.POSITIVE_INFINITY, '5', 2 ** 31, null];
  it.each(names.flatMap((name) => wrong.map((value) => [name, value] as const)))(
    'refuses %s of %o',
    (name, value) => {
      expect(refusal({ [name]: value })).toBe('not_whole');
    },
  );

  it('is about as many as it says', () => {
    expect(names.length * wrong.length).toBe(48);
  });

  it('refuses more at once and ahead than one claim may bring', () => {
    expect(refusal({ batch: 10_001 })).toBe('too_many');
    expect(refusal({ concurrency: 10_001 })).toBe('too_many');
  });
});

describe('checkRenewal', () => {
  it('takes an event that does nothing but renew', () => {
    checkRenewal(sending());
  });

  it('refuses one that moves the run', () => {
    const moving = sending({ renew: () => ({ event: 'release' }) });
    expect(() => checkRenewal(moving)).toThrow('"release" is not a renewal');
  });
});
