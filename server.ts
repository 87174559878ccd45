// The composition root: reads the configuration, starts every part in order, and closes them in
// the reverse order on SIGTERM or SIGINT. `npm start` runs it.
//
// - It listens on 127.0.0.1 only: there is no identity check yet.
// - On a signal it claims nothing more, lets running sends end (25 s by default; a second signal
//   ends that wait), then closes HTTP, mailbox, database and the embedded Postgres. Then it exits
//   with 0.
// - A lost database never ends it: the delivery loop waits and resumes, and requests fail
//   meanwhile.
// - Left out: an embedded Postgres that dies by itself is not started again. The process says so
//   and exits with 1; whoever supervises it starts both.

import { once } from 'node:events';
import { resolve } from 'node:path';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { machines } from './machines/all.ts';
import { ensureDatabase } from './persistence/create-database.ts';
import { openDatabase } from './persistence/database.ts';
import { installMachines } from './persistence/definitions.ts';
import { startEmbeddedPostgres } from './persistence/embedded-postgres.ts';
import { EmbeddedPostgresError } from './persistence/embedded-postgres-error.ts';
import { checkLimits, limitsBelow } from './persistence/limits.ts';
import { migrate } from './persistence/migrate.ts';
import { openWakeListener } from './persistence/wake-listener.ts';
import { type Config, ConfigError, host, readConfig } from './services/config.ts';
import { emailChannel } from './services/deliveries/email.ts';
import { startDeliveryLoop } from './services/deliveries/loop.ts';
import { deliveryRoutes } from './services/deliveries/routes.ts';
import { createApp } from './services/http/app.ts';
import { listen } from './services/http/listener.ts';
import { mailboxRoutes } from './services/mailbox/routes.ts';
import { startMailbox } from './services/mailbox/smtp.ts';
import { readRunning, removeRunning, writeRunning } from './services/running-process.ts';
import { openShutdown, type Shutdown } from './services/shutdown.ts';
import { startUpkeep } from './services/upkeep.ts';

const dataDir = resolve('.fencepost', 'postgres');
const runningFile = resolve('.fencepost', 'server.json');
const httpGraceMs = 2000;
const lastResortMs = 10_000;

interface Process {
  readonly config: Config;
  readonly log: Logger;
  readonly shutdown: Shutdown;
  readonly stopping: AbortController;
  /** Ends the wait for running sends. Nothing to hurry until the loop runs. */
  hurry: () => void;
}

async function startOwnPostgres(self: Process): Promise<string> {
  const { log, shutdown, stopping } = self;
  const postgres = await startEmbeddedPostgres({ dataDir, throwaway: false });
  shutdown.defer('embedded Postgres', postgres.stop, lastResortMs);
  postgres.exited.then(({ code, log: lines }) => {
    if (stopping.signal.aborted) return;
    log.fatal({ code, lines }, 'the embedded Postgres ended by itself');
    process.exitCode = 1;
    stopping.abort();
    self.hurry();
  });
  await removeRunning(runningFile);
  shutdown.defer('running file', () => removeRunning(runningFile));
  return await ensureDatabase(postgres.url, 'fencepost');
}

async function start(self: Process): Promise<void> {
  const { config, log, shutdown, stopping } = self;
  const { leaseMs, sendTimeoutMs: timeoutMs } = config;
  const limits = limitsBelow(leaseMs);
  checkLimits(limits, leaseMs);

  const url = config.databaseUrl ?? (await startOwnPostgres(self));
  stopping.signal.throwIfAborted();
  const database = await openDatabase({
    url,
    limits,
    onError: (error) => log.warn({ err: error }, 'an idle connection was lost'),
  });
  shutdown.defer('database', database.close);
  const migrations = await migrate(database);
  const installed = await installMachines(database, machines);
  log.info({ migrations, installed }, 'the database is ready');
  const upkeep = await startUpkeep({ database, log });
  shutdown.defer('upkeep', upkeep.close);
  const wakes = await openWakeListener(database, {
    onLost: (reason) => log.warn({ err: reason }, 'nobody wakes the loop, it polls'),
  });
  shutdown.defer('wake-ups', wakes.close);
  stopping.signal.throwIfAborted();

  const mailbox = config.smtpUrl ? undefined : await startMailbox({ database, log });
  if (mailbox) shutdown.defer('mailbox', mailbox.close);
  const app = createApp({
    log,
    isStopping: () => stopping.signal.aborted,
    routers: [
      deliveryRoutes({ database, sender: config.mailFrom }),
      ...(mailbox ? [mailboxRoutes(database)] : []),
    ],
  });
  const http = await listen(app, { host, port: config.port });
  shutdown.defer('http', () => http.close(httpGraceMs));

  const channel = emailChannel({ url: config.smtpUrl ?? mailbox?.url ?? '', timeoutMs });
  const loop = startDeliveryLoop({ ...config, database, wakes, channel, log });
  const { shutdownGraceMs: graceMs } = config;
  shutdown.defer('deliveries', () => loop.stop(graceMs), graceMs + lastResortMs);
  self.hurry = loop.hurry;

  if (!config.databaseUrl) await writeRunning(runningFile, { pid: process.pid, url: http.url });
  log.info({ url: http.url, pid: process.pid }, 'listening');
  process.stdout.write(greeting(http.url, mailbox !== undefined));
}

function greeting(url: string, hasMailbox: boolean): string {
  return `
  Fencepost   ${url}
${hasMailbox ? `  Mailbox     ${url}/dev/mailbox\n` : ''}  Send a mail:

    curl -sS ${url}/v1/deliveries -H 'content-type: application/json' \\
      -d '{"channel":"email","to":"ada@example.com","subject":"Hello","body":"It works."}'

`;
}

/** Says why the process does not start: in plain words where there are some. */
async function report(error: unknown, log: Logger): Promise<void> {
  if (!(error instanceof EmbeddedPostgresError) || error.code !== 'already_running') {
    log.fatal({ err: error }, 'could not start');
    return;
  }
  const first = await readRunning(runningFile);
  const where = first ? `process ${first.pid} serves ${first.url}` : 'its address is not known yet';
  process.stderr.write(
    `Fencepost already runs on ${dataDir}: ${where}; Postgres is process ${error.holder?.pid}.\n`,
  );
}

async function main(config: Config): Promise<void> {
  const log = pino({
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  });
  const shutdown = openShutdown(log);
  const stopping = new AbortController();
  const self: Process = { config, log, shutdown, stopping, hurry: () => undefined };
  const stopped = once(stopping.signal, 'abort');
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = stopping.signal.aborted;
    log.info({ signal, again }, 'stopping');
    if (again) self.hurry();
    else stopping.abort();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  stopping.signal.addEventListener('abort', () => {
    const lastResort = setTimeout(() => {
      log.fatal('could not stop in time');
      process.exit(1);
    }, config.shutdownGraceMs + lastResortMs);
    // It must not be what keeps the process alive.
    lastResort.unref();
  });
  try {
    await start(self);
    await stopped;
  } catch (error) {
    // A signal in the middle of the start is not a mistake.
    if (!stopping.signal.aborted) {
      process.exitCode = 1;
      await report(error, log);
      stopping.abort();
    }
  }
  await shutdown.close();
  log.info('stopped');
}

try {
  await main(readConfig(process.env));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
