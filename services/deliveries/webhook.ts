// The channel `webhook`: one POST to one URL, signed as Standard Webhooks says, a connection each.
//
// - At least once. Receivers are asked to drop what they know by `webhook-id`, which is the same
//   for every attempt; but no receiver has promised us that it does.
// - The body is the payload's bytes as they were frozen. The timestamp and with it the signature
//   are of the attempt: receivers refuse what is five minutes old.
// - `unknown` is exact to the last chunk: the body was read to its end, and no status came.
// - Bounded whatever the receiver does: a limit until the status is there, another for the text
//   behind it, 64 kB of that text. What a status says stands, however the rest goes.
// - No connection is kept: a POST on one that the receiver is just closing ends as unknown.
//   Source: Standard Webhooks, specification 1.0.0.

import { Readable } from 'node:stream';
import { Webhook } from 'standardwebhooks';
import { Client, errors } from 'undici';
import { describeError } from '../describe-error.ts';
import type { Channel, Failed, Message, SendResult } from './channel.ts';
import {
  BlockedAddressError,
  type PublicConnectorOptions,
  publicConnector,
} from './public-agent.ts';
import { type Answer, readAnswer } from './webhook-answer.ts';

const chunkBytes = 16_384;
const mostAnswerBytes = 65_536;
const longestTextMs = 2000;
const fewestKeyBytes = 24;
const mostKeyBytes = 64;
const secretPattern = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

export interface WebhookOptions extends PublicConnectorOptions {
  /**
   * `whsec_` and 24 to 64 bytes in base64. Several, with blanks between them, sign beside each
   * other, so that receivers can change theirs one after the other.
   */
  readonly secret: string;
  /** Until the status is there. The caller's signal bounds the whole. */
  readonly timeoutMs: number;
}

/** @throws TypeError for what is no secret; it is not printed. */
function signersOf(secret: string): readonly Webhook[] {
  return secret
    .trim()
    .split(/\s+/)
    .map((each) => {
      const [, encoded = ''] = secretPattern.exec(each) ?? [];
      const { length } = Buffer.from(encoded, 'base64');
      if (length >= fewestKeyBytes && length <= mostKeyBytes) return new Webhook(each);
      throw new TypeError('a webhook secret is whsec_ and 24 to 64 bytes in base64');
    });
}

function* chunks(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** Reads the beginning of an answer; what came before a break is what there is. */
async function readStart(body: Readable): Promise<string> {
  const read: Buffer[] = [];
  let length = 0;
  body.on('error', () => undefined);
  try {
    for await (const chunk of body) {
      read.push(chunk);
      length += chunk.length;
      if (length >= mostAnswerBytes) break;
    }
  } catch {
    // The status is there; the text is for people.
  }
  return new TextDecoder().decode(Buffer.concat(read).subarray(0, mostAnswerBytes));
}

/** Judges what ended the conversation before a status came. */
function judge(error: unknown, bodyOut: boolean): Failed {
  const isFinal =
    error instanceof BlockedAddressError || error instanceof errors.InvalidArgumentError;
  const unknown = bodyOut && !isFinal;
  return { result: 'failed', retryable: !isFinal, unknown, error: describeError(error) };
}

/** @throws undici's InvalidArgumentError for what cannot be called by HTTP. */
function targetOf(recipient: string): URL {
  if (/^https?:\/\//i.test(recipient) && URL.canParse(recipient)) return new URL(recipient);
  throw new errors.InvalidArgumentError('the recipient is not a URL of http or https');
}

const originOf = (recipient: string): string =>
  URL.canParse(recipient) ? new URL(recipient).origin : recipient;

/** @throws TypeError for a bad secret, Error for a range that is not in CIDR notation. */
export function webhookChannel({ secret, ...options }: WebhookOptions): Channel {
  const { timeoutMs } = options;
  const signers = signersOf(secret);
  const connect = publicConnector(options);

  function headersOf({ messageKey, payload }: Message, length: number) {
    const now = new Date();
    return {
      'content-type': 'application/json',
      'content-length': String(length),
      'user-agent': 'Fencepost',
      'webhook-id': messageKey,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signers.map((each) => each.sign(messageKey, now, payload)).join(' '),
    };
  }

  async function send(message: Message, signal: AbortSignal): Promise<SendResult> {
    const bytes = Buffer.from(message.payload);
    const body = Readable.from(chunks(bytes));
    let bodyOut = false;
    body.once('end', () => {
      bodyOut = true;
    });
    const late = new AbortController();
    const after = (ms: number, what: string) =>
      setTimeout(() => late.abort(new Error(`no ${what} within ${ms} ms`)), ms);
    let timer = after(timeoutMs, 'status');
    let client: Client | undefined;
    try {
      signal.throwIfAborted();
      const url = targetOf(message.recipient);
      client = new Client(url.origin, { connect, pipelining: 0 });
      const {
        statusCode,
        headers,
        body: text,
      } = await client.request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: headersOf(message, bytes.length),
        body,
        signal: AbortSignal.any([signal, late.signal]),
        // The timers here: undici's own are a second coarse and start anew with every byte.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      clearTimeout(timer);
      timer = after(Math.min(timeoutMs, longestTextMs), 'end of the answer');
      const answer: Answer = {
        status: statusCode,
        retryAfter: headers['retry-after'],
        text: await readStart(text),
      };
      return readAnswer(answer, Date.now());
    } catch (error) {
      return judge(error, bodyOut);
    } finally {
      clearTimeout(timer);
      body.destroy();
      void client?.destroy().catch(() => undefined);
    }
  }

  return { name: 'webhook', effect: 'at-least-once', destinationOf: originOf, send };
}
