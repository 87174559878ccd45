// The development mailbox's SMTP server: a real one, on the loopback interface, that keeps what
// comes as rows. server.ts starts it where no SMTP_URL says where mails go.
//
// - A mail is answered with 250 only once its rows are committed, as a real server would.
// - No password, no TLS: nothing leaves this machine.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import PostalMime from 'postal-mime';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Database } from '../../persistence/database.ts';
import { insertMail } from '../../persistence/mailbox.ts';
import { host } from '../config.ts';

export interface MailboxServer {
  /** smtp://127.0.0.1:port */
  readonly url: string;
  close(): Promise<void>;
}

const largestMailBytes = 4_000_000;
const closeTimeoutMs = 1000;

class Refusal extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}

/** Reads to the end also what is too large: the client listens only then. */
async function readAll(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk);
  if (stream.sizeExceeded) throw new Refusal(552, 'This mail is too large for the mailbox');
  return Buffer.concat(chunks);
}

async function keep(database: Database, session: SMTPServerSession, raw: Buffer): Promise<void> {
  const parsed = await PostalMime.parse(raw);
  const { mailFrom, rcptTo } = session.envelope;
  await insertMail(database.db, {
    messageId: parsed.messageId ?? '',
    sender: mailFrom ? mailFrom.address : '',
    recipients: rcptTo.map(({ address }) => address),
    subject: parsed.subject ?? '',
    body: parsed.text ?? '',
    raw: raw.toString('utf8'),
  });
}

export interface MailboxServerOptions {
  readonly database: Database;
  readonly log: Logger;
}

/** Starts the server on a free port. */
export async function startMailbox({
  database,
  log,
}: MailboxServerOptions): Promise<MailboxServer> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    size: largestMailBytes,
    closeTimeout: closeTimeoutMs,
    logger: false,
    onData(stream, session, done) {
      readAll(stream)
        .then((raw) => keep(database, session, raw))
        .then(() => done(null, 'kept in the development mailbox'))
        .catch((error) => {
          if (error instanceof Refusal) return done(error);
          log.error({ err: error }, 'mailbox: a mail was not kept');
          return done(new Refusal(451, 'The mailbox cannot keep this mail now'));
        });
    },
  });
  // A client that goes away in the middle is its own trouble.
  server.on('error', (error) => log.warn({ err: error }, 'mailbox: a connection failed'));
  await once(server.listen(0, host), 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://${host}:${port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
