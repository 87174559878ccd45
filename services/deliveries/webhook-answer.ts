// What a receiver's answer to a webhook means. Pure, so that the whole table can be tested;
// webhook.ts brings the answer.
//
// - 2xx is sent. A redirect is not followed: it would go where nobody has judged the address.
// - 408, 425 and 5xx may pass, and count as failures. So does a status beyond 599, which is to be
//   taken for a 5xx. Source: RFC 9110, 15 Status Codes.
// - 429, and 503 with a time, are no failures: all that goes to this origin waits.
// - 410 says that this one URL is gone. Others of its origin go on.

import { storable } from '../../persistence/text.ts';
import { readRetryAfter } from '../retry-after.ts';
import type { SendResult } from './channel.ts';

export interface Answer {
  readonly status: number;
  /** The field as it came: several if it came several times. */
  readonly retryAfter: string | readonly string[] | undefined;
  /** The beginning of the answer's body. */
  readonly text: string;
}

const longestText = 500;
const usualWaitMs = 60_000;
/** A receiver that says 0 is asked again soon, not at once and without end. */
const shortestWaitMs = 1000;
const longestWaitMs = 86_400_000;

const bounded = (ms: number): number => Math.min(longestWaitMs, Math.max(shortestWaitMs, ms));

/** Reads an answer. `nowMs` is what a date in it is compared with. */
export function readAnswer({ status, retryAfter, text }: Answer, nowMs: number): SendResult {
  const said = storable(text, longestText);
  if (status >= 200 && status < 300) {
    return { result: 'sent', receipt: { status: String(status), answer: said } };
  }
  const error = `HTTP ${status}${said && `: ${said}`}`;
  const asked = readRetryAfter(retryAfter, nowMs);
  if (status === 429 || (status === 503 && asked !== null)) {
    const waitMs = bounded(asked ?? usualWaitMs);
    const coolDown = { scope: 'destination', ms: waitMs, reason: error } as const;
    return { result: 'throttled', waitMs, error, coolDown };
  }
  const failed = { result: 'failed', unknown: false, error } as const;
  if (status === 410) {
    const coolDown = { scope: 'recipient', ms: null, reason: error } as const;
    return { ...failed, retryable: false, coolDown };
  }
  if (status === 408 || status === 425 || status >= 500) {
    return { ...failed, retryable: true, ...(asked !== null && { retryAfterMs: bounded(asked) }) };
  }
  return { ...failed, retryable: false };
}
