import { describe, expect, it } from 'vitest';
import { readAnswer } from '../../../services/deliveries/webhook-answer.ts';

const now = Date.UTC(2026, 9, 6, 12, 0, 0);
const dayMs = 86_400_000;
const read = (status: number, retryAfter?: string | readonly string[], text = '') =>
  readAnswer({ status, retryAfter, text }, now);

const permanent = { result: 'failed', retryable: false, unknown: false };
const mayPass = { result: 'failed', retryable: true, unknown: false };

describe("a receiver's answer", () => {
  it.each([200, 201, 202, 204, 299])('%i is sent', (status) => {
    expect(read(status, '120', 'thanks')).toEqual({
      result: 'sent',
      receipt: { status: String(status), answer: 'thanks' },
    });
  });

  it.each([300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 413, 418, 422, 451])(
    '%i is for good',
    (status) => {
      expect(read(status)).toEqual({ ...permanent, error: `HTTP ${status}` });
    },
  );

  it.each([408, 425, 500, 501, 502, 503, 504, 599, 999])('%i may pass', (status) => {
    expect(read(status)).toEqual({ ...mayPass, error: `HTTP ${status}` });
  });

  it.each([408, 500, 504])('%i with a time waits so long, and is a failure', (status) => {
    expect(read(status, '120')).toEqual({
      ...mayPass,
      error: `HTTP ${status}`,
      retryAfterMs: 120_000,
    });
  });

  it.each([
    [429, '120', 120_000],
    [503, '120', 120_000],
    [429, 'Tue, 06 Oct 2026 12:02:00 GMT', 120_000],
    [503, 'Tue, 06 Oct 2026 12:02:00 GMT', 120_000],
    [429, undefined, 60_000],
    [429, 'soon', 60_000],
    [429, '-3', 60_000],
    [429, ['1', '2'], 60_000],
    // Asked again soon, but not without end.
    [429, '0', 1000],
    [503, 'Wed, 21 Oct 2015 07:28:00 GMT', 1000],
    // Not put off for ever.
    [429, '31536000', dayMs],
    [429, '9'.repeat(400), dayMs],
  ])('%i with Retry-After %j lets the origin rest for %i ms', (status, retryAfter, ms) => {
    expect(read(status, retryAfter)).toEqual({
      result: 'throttled',
      waitMs: ms,
      error: `HTTP ${status}`,
      coolDown: { scope: 'destination', ms, reason: `HTTP ${status}` },
    });
  });

  it('503 with a Retry-After that is none is a failure like any 5xx', () => {
    expect(read(503, '1e9')).toEqual({ ...mayPass, error: 'HTTP 503' });
  });

  it('410 is for good, and disables this one URL until somebody lifts that', () => {
    expect(read(410, '120', 'moved away')).toEqual({
      ...permanent,
      error: 'HTTP 410: moved away',
      coolDown: { scope: 'recipient', ms: null, reason: 'HTTP 410: moved away' },
    });
  });

  it('keeps of the text what can be stored, and not more than 500 units', () => {
    const { error } = { error: '', ...read(400, undefined, `a\u0000b\ud800${'x'.repeat(1000)}`) };
    expect(error).toMatch(/^HTTP 400: a\uFFFDb\uFFFDx+…$/);
    expect(error).toHaveLength('HTTP 400: '.length + 500);
  });
});
