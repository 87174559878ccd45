// What may be enqueued for the channel `webhook`: one URL that may be called, and JSON for it.
//
// - What can be seen in the URL is refused here: another protocol, a password, a private address in
//   any notation. What a name means is judged when it is called; see public-agent.ts.
// - JSON is refused where it would arrive changed: NUL, half a surrogate pair, also in keys, and
//   integers that JavaScript rounds.

import { z } from 'zod';
import { textFault } from '../../persistence/text.ts';
import { valueFault } from '../../persistence/values.ts';
import { addFault, checked, type Fault } from './checked-text.ts';
import { addressJudge, isLocalName, literalAddress, type Verdict } from './public-address.ts';

const longestUrl = 2000;
const largestDataBytes = 1_048_576;
const typePattern = /^[A-Za-z0-9._-]{1,128}$/;
/** What WHATWG URLs take out or turn round without a word. */
const mendedByUrl = /[\s\\]/;

const loopback = '127.0.0.1';

function urlFault(text: string, judge: (address: string) => Verdict): Fault | undefined {
  if (text.length > longestUrl) return 'too_long';
  const isWhole = /^https?:\/\//i.test(text) && !mendedByUrl.test(text) && !textFault(text);
  if (!isWhole || !URL.canParse(text)) return 'bad_url';
  const url = new URL(text);
  if (url.href.length > longestUrl) return 'too_long';
  if (url.username || url.password) return 'userinfo';
  if (text.includes('#')) return 'fragment';
  const address = isLocalName(url.hostname) ? loopback : literalAddress(url.hostname);
  const verdict = address === undefined ? 'public' : judge(address);
  if (verdict === 'refused') return 'private_address';
  return url.protocol === 'https:' || verdict === 'allowed' ? undefined : 'insecure_url';
}

/** Looks for an integer that JSON.parse has rounded. The value is JSON, and not too deep. */
function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);
}

function dataFault(data: unknown): Fault | undefined {
  if (data === undefined) return 'missing';
  const fault = valueFault(data, 'json?');
  // Of the kinds of fault that a value can have, only those of JSON can be met.
  if (fault === 'wrong_kind' || fault === 'out_of_range') return 'not_json';
  if (fault) return fault;
  if (hasUnsafeInteger(data)) return 'unsafe_integer';
  return Buffer.byteLength(JSON.stringify(data)) > largestDataBytes ? 'too_long' : undefined;
}

const data = z.unknown().superRefine((value, context) => {
  const code = dataFault(value);
  if (code) addFault(context, code);
});

export interface WebhookRules {
  /** CIDR ranges that may be reached although they are not public, also by http. */
  readonly allowedRanges: readonly string[];
}

/** @throws Error for a range that is not in CIDR notation. */
export function newWebhook({ allowedRanges }: WebhookRules) {
  const judge = addressJudge(allowedRanges);
  const to = checked((text) => urlFault(text, judge)).transform((text) => new URL(text).href);
  const type = checked((text) => (typePattern.test(text) ? undefined : 'bad_type')).optional();
  return z
    .strictObject({
      channel: z.literal('webhook'),
      to: to.meta({ format: 'uri', maxLength: longestUrl, example: 'https://example.com/hooks' }),
      type: type.meta({ pattern: typePattern.source, example: 'invoice.paid' }),
      data: data.meta({ description: 'Any JSON, at most 1 MiB and 100 levels deep' }),
    })
    .meta({ id: 'NewWebhook' })
    .brand<'NewDelivery'>();
}
