// An SMTP server for tests that behaves as it is told: accepts, refuses with a code at a stage, or
// keeps its answer back until the test gives it. Called by tests of the channel and of the service.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

type Stage = 'connect' | 'login' | 'sender' | 'recipient' | 'data';

/** What to answer: nothing to accept, an error with a `responseCode` to refuse. */
export type Answer = (stage: Stage) => Promise<Error | undefined>;

export interface MailSink {
  readonly url: string;
  /** The raw mails that were accepted. */
  readonly mails: readonly string[];
  close(): Promise<void>;
}

/** Refuses with this SMTP code at that stage. */
export function refusal(responseCode: number): Error {
  return Object.assign(new Error(`refused with ${responseCode}`), { responseCode });
}

export interface MailSinkOptions {
  /** Whether it offers AUTH. Without it no client logs in. */
  readonly asksForLogin?: boolean;
}

export async function openMailSink(
  answer: Answer,
  { asksForLogin = false }: MailSinkOptions = {},
): Promise<MailSink> {
  const mails: string[] = [];
  const reply = (stage: Stage, done: (error?: Error | null) => void) => {
    void answer(stage).then((error) => done(error ?? null));
  };
  const server = new SMTPServer({
    disabledCommands: asksForLogin ? ['STARTTLS'] : ['AUTH', 'STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 1,
    logger: false,
    onConnect: (_session, done) => reply('connect', done),
    onAuth({ username }, _session, done) {
      void answer('login').then((error) => (error ? done(error) : done(null, { user: username })));
    },
    onMailFrom: (_address, _session, done) => reply('sender', done),
    onRcptTo: (_address, _session, done) => reply('recipient', done),
    onData(stream, _session, done) {
      text(stream).then(
        (mail) =>
          reply('data', (error) => {
            if (!error) mails.push(mail);
            done(error);
          }),
        // The client went away in the middle of its mail.
        done,
      );
    },
  });
  // Clients that were killed or gave up are what these tests are about.
  server.on('error', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** A stage that a test waits for and then lets go on. */
export function gate() {
  let arrive = () => {};
  let open = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    /** Resolves when somebody stands before it. */
    arrived,
    open: () => open(),
    pass: () => {
      arrive();
      return opened;
    },
  };
}
