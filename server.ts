// The composition root: reads the configuration, starts every part in order, and closes them in
// the reverse order on SIGTERM or SIGINT. `npm start` runs it.
//
// - It listens on 127.0.0.1 only: there is no identity check yet.
// - HTTP is there as soon as the embedded Postgres is, or the configuration where there is none:
//   /readyz says 503 until everything runs, while the database is away, and once it stops.
// - On a signal it claims nothing more, lets running sends end (25 s by default; a second signal
//   ends that wait), then closes HTTP, mailbox, database and the embedded Postgres. Then it exits
//   with 0.
// - A lost database never ends it: workers wait and resume, and requests are answered with 503. An
//   embedded Postgres that dies is started again; only one that keeps dying ends the process, with
//   1.

import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Router } from 'express';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { machines } from './machines/all.ts';
import { dbops } from './machines/dbops.ts';
import { outbox } from './machines/outbox.ts';
import { ensureDatabase } from './persistence/create-database.ts';
import { type Database, openDatabase } from './persistence/database.ts';
import { installMachines } from './persistence/definitions.ts';
import { EmbeddedPostgresError } from './persistence/embedded-postgres-error.ts';
import { checkLimits, type Limits, limitsBelow } from './persistence/limits.ts';
import { migrate } from './persistence/migrate.ts';
import { openWakeListener, type WakeListener } from './persistence/wake-listener.ts';
import { type Config, ConfigError, host, readConfig } from './services/config.ts';
import type { Channel } from './services/deliveries/channel.ts';
import { emailChannel } from './services/deliveries/email.ts';
import { startRetention } from './services/deliveries/retention.ts';
import { deliveryRoutes } from './services/deliveries/routes.ts';
import { webhookChannel } from './services/deliveries/webhook.ts';
import { deliveryWork } from './services/deliveries/worker.ts';
import { createApp } from './services/http/app.ts';
import { listen } from './services/http/listener.ts';
import { mailboxRoutes } from './services/mailbox/routes.ts';
import { startMailbox } from './services/mailbox/smtp.ts';
import { neonProvider } from './services/operations/neon.ts';
import { callTimeoutFor, paceOf, timesFor } from './services/operations/pace.ts';
import { postgresProvider } from './services/operations/postgres.ts';
import type { Provider } from './services/operations/provider.ts';
import { operationBatches } from './services/operations/retention.ts';
import { operationWorks } from './services/operations/worker.ts';
import { startOwnPostgres } from './services/own-postgres.ts';
import { openReadiness, type Readiness } from './services/readiness.ts';
import { readRunning, removeRunning, writeRunning } from './services/running-process.ts';
import { startRuns } from './services/runs/start.ts';
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
  readonly readiness: Readiness;
  /** What ends the wait for running sends and calls. Empty until the workers run. */
  readonly hurries: (() => void)[];
}

function hurry({ hurries }: Process): void {
  for (const each of hurries) each();
}

async function ownDatabase(self: Process): Promise<string> {
  const { log, shutdown, stopping } = self;
  const postgres = await startOwnPostgres({
    dataDir,
    log,
    onGivenUp() {
      log.fatal('the embedded Postgres keeps ending');
      process.exitCode = 1;
      stopping.abort();
      hurry(self);
    },
  });
  shutdown.defer('embedded Postgres', postgres.stop, lastResortMs);
  await removeRunning(runningFile);
  shutdown.defer('running file', () => removeRunning(runningFile));
  return postgres.url;
}

async function openOurDatabase(self: Process, url: string, limits: Limits): Promise<Database> {
  const { log, shutdown } = self;
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
  return database;
}

/** The channels that the configuration names. */
function channelsOf({ config }: Process, smtpUrl: string): readonly Channel[] {
  const { sendTimeoutMs: timeoutMs, webhookSecret: secret, webhookAllowedRanges } = config;
  const email = emailChannel({ url: smtpUrl, timeoutMs });
  if (secret === undefined) return [email];
  return [email, webhookChannel({ secret, timeoutMs, allowedRanges: webhookAllowedRanges })];
}

async function openWakes({ log, shutdown }: Process, database: Database): Promise<WakeListener> {
  const wakes = await openWakeListener(database, {
    onLost: (reason) => log.warn({ err: reason }, 'nobody wakes the workers, they poll'),
  });
  shutdown.defer('wake-ups', wakes.close);
  return wakes;
}

/** What the workers of a machine stand on. */
interface Ground {
  readonly database: Database;
  readonly wakes: WakeListener;
}

/** The branches that the configuration names. */
function providerOf({ config, log }: Process, database: Database): Provider | undefined {
  const { branches, neon, operationLeaseMs } = config;
  switch (branches) {
    case 'postgres':
      return postgresProvider({ database, log });
    case 'neon':
      return neonProvider({ ...neon, timeoutMs: callTimeoutFor(operationLeaseMs) });
    case 'none':
      return undefined;
    default:
      return branches satisfies never;
  }
}

/** Without a provider it only reaps. */
function startOperations(self: Process, { database, wakes }: Ground): void {
  const { config, log, shutdown } = self;
  const { shutdownGraceMs: graceMs, operationLeaseMs, operationDeadlineMs, reapMs } = config;
  const provider = providerOf(self, database);
  if (provider) shutdown.defer('branches', provider.close, graceMs);
  const times = timesFor(operationLeaseMs, operationDeadlineMs);
  const works = provider ? operationWorks({ database, provider, times, log }) : [];
  const pace = paceOf(times, config.pollMs);
  const base = { database, machine: dbops, wakes, works, pace, reapMs, log };
  const runs = startRuns<typeof dbops>(base);
  shutdown.defer('operations', () => runs.stop(graceMs), graceMs + lastResortMs);
  self.hurries.push(runs.hurry);
}

function startDeliveries(self: Process, ground: Ground, channels: readonly Channel[]): void {
  const { config, log, shutdown } = self;
  const { database, wakes } = ground;
  const retention = startRetention({ database, log, more: operationBatches });
  shutdown.defer('retention', retention.close);
  const { shutdownGraceMs: graceMs, sendTimeoutMs: timeoutMs, reapMs } = config;
  const runs = startRuns<typeof outbox>({
    database,
    machine: outbox,
    wakes,
    works: channels.map((channel) => deliveryWork({ database, channel, log })),
    pace: { ...config, timeoutMs },
    reapMs,
    log,
  });
  shutdown.defer('deliveries', () => runs.stop(graceMs), graceMs + lastResortMs);
  self.hurries.push(runs.hurry);
}

async function start(self: Process): Promise<void> {
  const { config, log, shutdown, stopping, readiness } = self;
  const shortestLeaseMs = Math.min(config.leaseMs, config.operationLeaseMs);
  const limits = limitsBelow(shortestLeaseMs);
  checkLimits(limits, shortestLeaseMs);

  const serverUrl = config.databaseUrl === undefined ? await ownDatabase(self) : undefined;
  stopping.signal.throwIfAborted();
  const routers: Router[] = [];
  const app = createApp({ log, readiness, routers: () => routers });
  const http = await listen(app, { host, port: config.port });
  shutdown.defer('http', () => http.close(httpGraceMs));
  log.info({ url: http.url }, 'http is open');

  const url = config.databaseUrl ?? (await ensureDatabase(serverUrl ?? '', 'fencepost'));
  // Something to branch from, so that a first branch needs no preparation.
  if (serverUrl !== undefined) await ensureDatabase(serverUrl, 'main');
  const database = await openOurDatabase(self, url, limits);
  stopping.signal.throwIfAborted();
  const mailbox = config.smtpUrl ? undefined : await startMailbox({ database, log });
  if (mailbox) shutdown.defer('mailbox', mailbox.close);
  const channels = channelsOf(self, config.smtpUrl ?? mailbox?.url ?? '');
  const webhooks = channels.length > 1 && { allowedRanges: config.webhookAllowedRanges };
  const sender = config.mailFrom;
  routers.push(deliveryRoutes({ database, sender, ...(webhooks && { webhooks }) }));
  if (mailbox) routers.push(mailboxRoutes(database));
  // Again, because it closes before what its routes need; the first one is for a start that fails.
  shutdown.defer('http', () => http.close(httpGraceMs));
  const ground = { database, wakes: await openWakes(self, database) };
  startOperations(self, ground);
  startDeliveries(self, ground, channels);
  readiness.begin(database);

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
    level: config.logLevel,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  });
  const shutdown = openShutdown(log);
  const stopping = new AbortController();
  const readiness = openReadiness(stopping.signal);
  const self: Process = { config, log, shutdown, stopping, readiness, hurries: [] };
  const stopped = once(stopping.signal, 'abort');
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = stopping.signal.aborted;
    log.info({ signal, again }, 'stopping');
    if (again) hurry(self);
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
