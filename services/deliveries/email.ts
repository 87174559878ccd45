// The channel `email`: one mail to one recipient over SMTP, a connection a mail.
//
// - SMTP knows no idempotency key: at least once. Every attempt carries the same Message-ID and
//   the same Date, so that whoever looks can see a duplicate for what it is.
// - A refusal counts against the mail only where it is about the mail: after RCPT TO or DATA.
// - A wrong password or an unwelcome sender is the channel's own trouble: the whole channel rests
//   for some minutes, and the mail that met it is put off, not failed.
// - `unknown` is exact to the last chunk: the body was read to its end, and no reply came.
//   Source: RFC 5321, 4.2.1 Reply Code Severities and 4.5.3.2.6 (why a lost reply means a
//   duplicate).

import { once } from 'node:events';
import { Readable } from 'node:stream';
import MailComposer from 'nodemailer/lib/mail-composer';
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import SMTPConnection, {
  type SMTPConnectionOptions,
  type SMTPConnectionSendInfo,
} from 'nodemailer/lib/smtp-connection';
import { z } from 'zod';
import { storable } from '../../persistence/text.ts';
import { describeError } from '../describe-error.ts';
import type { Channel, Failed, Message, SendResult, Throttled } from './channel.ts';

const emailPayload = z.object({ from: z.string(), subject: z.string(), body: z.string() });
export type EmailPayload = z.output<typeof emailPayload>;

const longestReply = 500;
const chunkBytes = 16_384;
const microsecondsAMillisecond = 1000;
const channelRestMs = 300_000;

/** What nodemailer puts on its errors; whatever else was thrown has none of it. */
const smtpError = z
  .object({
    code: z.string().optional().catch(undefined),
    command: z.string().optional().catch(undefined),
    responseCode: z.number().optional().catch(undefined),
    permanent: z.boolean().optional().catch(undefined),
  })
  .catch({});

/** Judges an error of a conversation. `bodyOut`: the whole message had been handed over by then. */
function judge(error: unknown, bodyOut: boolean): Failed | Throttled {
  const { code = '', command = '', responseCode, permanent = false } = smtpError.parse(error);
  const replied = responseCode !== undefined;
  const text = describeError(error);
  // Bad credentials without a reply are those that the library itself could not use.
  const badLogin = code === 'EAUTH' && (permanent || !replied);
  if (badLogin || (replied && permanent && command === 'MAIL FROM')) {
    const coolDown = { scope: 'channel', ms: channelRestMs, reason: text } as const;
    return { result: 'throttled', waitMs: channelRestMs, error: text, coolDown };
  }
  // Without a reply it is the library that refused: an envelope, or a size, that cannot be sent.
  const aboutTheMail = replied
    ? permanent && ['RCPT TO', 'DATA'].includes(command)
    : ['EENVELOPE', 'EMESSAGE'].includes(code);
  const unknown = bodyOut && !replied;
  return { result: 'failed', retryable: !aboutTheMail, unknown, error: text };
}

function* chunks(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function compose(message: Message) {
  const { from, subject, body } = emailPayload.parse(JSON.parse(message.payload));
  const mail = new MailComposer({
    from,
    to: { name: '', address: message.recipient },
    subject,
    text: body,
    messageId: message.messageKey,
    date: new Date(message.createdAt / microsecondsAMillisecond),
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  return { envelope: { from, to: [message.recipient] }, bytes: await mail.build() };
}

/** Node's way to wait for a method that takes a callback; nodemailer's types need the closure. */
const called = <T>(start: (done: (error: Error | null, value: T) => void) => void): Promise<T> =>
  new Promise((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value)));
  });

function readReply(info: SMTPConnectionSendInfo): SendResult {
  // A send resolves as soon as one recipient was accepted. There is one, but LMTP refuses late.
  const [refusal] = info.rejectedErrors ?? [];
  if (refusal || info.rejected.length > 0 || info.accepted.length === 0) {
    return judge(refusal ?? new Error('the server accepted no recipient'), false);
  }
  return { result: 'sent', receipt: { response: storable(info.response, longestReply) } };
}

/** Domains are equal in any case; what is before the @ is the server's own affair. */
const domainOf = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase();

export interface EmailOptions {
  /** smtp://user:password@host:port or smtps:// */
  readonly url: string;
  /** One silent step of the conversation at most. The caller's signal bounds the whole. */
  readonly timeoutMs: number;
}

export function emailChannel({ url, timeoutMs }: EmailOptions): Channel {
  const { auth, ...server } = parseConnectionUrl(url);
  const options: SMTPConnectionOptions = {
    ...server,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // Whoever does not close after us is not waited for.
    socketCloseTimeout: 1000,
  };

  async function send(message: Message, signal: AbortSignal): Promise<SendResult> {
    let composed: Awaited<ReturnType<typeof compose>>;
    try {
      composed = await compose(message);
    } catch (error) {
      // It was frozen at enqueue: another attempt would read the same.
      return { result: 'failed', retryable: false, unknown: false, error: describeError(error) };
    }
    const { envelope, bytes } = composed;
    const connection = new SMTPConnection(options);
    // An error without a listener would end the process, and one may come after we stopped waiting.
    connection.on('error', () => undefined);
    const body = Readable.from(chunks(bytes));
    let bodyOut = false;
    body.once('end', () => {
      bodyOut = true;
    });
    const over = new AbortController();
    const broken = once(connection, 'error', { signal: over.signal }).then(([error]) => {
      throw error;
    });
    const aborted = once(signal, 'abort', { signal: over.signal }).then(() => {
      throw signal.reason;
    });
    const talk = async () => {
      signal.throwIfAborted();
      await called<unknown>((done) =>
        connection.connect((error) => done(error ?? null, undefined)),
      );
      if (auth && connection.allowsAuth) {
        await called<unknown>((done) => connection.login(auth, done));
      }
      return await called<SMTPConnectionSendInfo>((done) => connection.send(envelope, body, done));
    };
    try {
      return readReply(await Promise.race([talk(), broken, aborted]));
    } catch (error) {
      return judge(error, bodyOut);
    } finally {
      over.abort();
      for (const each of [broken, aborted]) each.catch(() => undefined);
      connection.close();
    }
  }

  return { name: 'email', effect: 'at-least-once', destinationOf: domainOf, send };
}
