// The composition root: reads the configuration, starts every part in order, and closes them in
// the reverse order on SIGTERM or SIGINT. `npm start` runs it.
//
// - It listens on 127.0.0.1 unless HOST says otherwise. Without AUTH_JWKS_URL it knows who asks by
//   a key pair of its own in `.fencepost/`, where it leaves a token of all scopes.
// - HTTP is there as soon as the embedded Postgres is, or the configuration where there is none:
//   /readyz says 503 until everything runs, while the database is away, and once it stops.
// - On a signal /readyz says 503 and event streams end. It claims nothing more and lets running
//   sends end; only then the port is closed, because a closed one cannot say 503, and running
//   requests may end. All that within the grace (25 s by default), which a second signal ends. Then
//   mailbox, database and the embedded Postgres are closed, and it exits with 0.
// - A lost database never ends it: workers wait and resume, and requests are answered with 503. An
//   embedded Postgres that dies is started again; only one that keeps dying ends the process, with
//   1.

import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { machines } from './machines/all.ts';
import { ensureDatabase } from './persistence/create-database.ts';
import { type Database, openDatabase } from './persistence/database.ts';
import { installMachines } from './persistence/definitions.ts';
import { EmbeddedPostgresError } from './persistence/embedded-postgres-error.ts';
import { checkLimits, type Limits, limitsBelow } from './persistence/limits.ts';
import { migrate } from './persistence/migrate.ts';
import { openWakeListener, type WakeListener } from './persistence/wake-listener.ts';
import { type Config, ConfigError, readConfig } from './services/config.ts';
import type { Channel } from './services/deliveries/channel.ts';
import { emailChannel } from './services/deliveries/email.ts';
import { startRetention } from './services/deliveries/retention.ts';
import { startDeliveries } from './services/deliveries/start.ts';
import { deliveryTool } from './services/deliveries/tool.ts';
import { webhookChannel } from './services/deliveries/webhook.ts';
import { startDocuments } from './services/documents/start.ts';
import { documentTools } from './services/documents/tools.ts';
import { lastResortMs } from './services/ground.ts';
import { createApp, type Served } from './services/http/app.ts';
import { type Identify, identity, remoteKeys } from './services/http/identity.ts';
import { listen } from './services/http/listener.ts';
import { openOwnKeys, writeOperatorToken } from './services/http/own-keys.ts';
import { startMailbox } from './services/mailbox/smtp.ts';
import { type Metrics, openMetrics } from './services/metrics/metrics.ts';
import { operationBatches } from './services/operations/retention.ts';
import { openProvider, startOperations } from './services/operations/start.ts';
import { branchTool } from './services/operations/tool.ts';
import { startOwnPostgres } from './services/own-postgres.ts';
import { noteDelete, noteWrite } from './services/proposals/notes.ts';
import { proposalBatches } from './services/proposals/retention.ts';
import { startProposals } from './services/proposals/start.ts';
import { toolRegistry } from './services/proposals/tools.ts';
import { openReadiness, type Readiness } from './services/readiness.ts';
import { routesOf } from './services/routes.ts';
import { readRunning, removeRunning, writeRunning } from './services/running-process.ts';
import { openShutdown, type Shutdown } from './services/shutdown.ts';
import { startUpkeep } from './services/upkeep.ts';

const home = resolve('.fencepost');
const dataDir = join(home, 'postgres');
const runningFile = join(home, 'server.json');
/** What requests have at least, when the running sends took the grace. */
const leastHttpGraceMs = 2000;

interface Process {
  readonly config: Config;
  readonly log: Logger;
  readonly shutdown: Shutdown;
  readonly stopping: AbortController;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  /** What is left of the grace of a stop that has begun. */
  readonly graceLeftMs: () => number;
  /** What ends the wait for running work and requests. Empty until there can be any. */
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
  const { config, log, shutdown } = self;
  const database = await openDatabase({
    url,
    limits,
    connections: config.connections,
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

/** Who says who callers are: the configured provider, or a key of our own. */
async function openIdentity({ config, log }: Process): Promise<Identify> {
  const { auth } = config;
  if (auth) {
    const { jwksUrl, issuer, audience, algorithm } = auth;
    return identity({ issuer, audience, algorithm, key: remoteKeys(jwksUrl) });
  }
  const keys = await openOwnKeys(home);
  const file = await writeOperatorToken(keys, home);
  log.info({ file }, 'a token of all scopes is written');
  return keys.identify;
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

async function start(self: Process): Promise<void> {
  const { config, log, shutdown, stopping, readiness } = self;
  const shortestLeaseMs = Math.min(config.leaseMs, config.operationLeaseMs);
  const limits = limitsBelow(shortestLeaseMs);
  checkLimits(limits, shortestLeaseMs);

  const serverUrl = config.databaseUrl === undefined ? await ownDatabase(self) : undefined;
  stopping.signal.throwIfAborted();
  let served: Served | undefined;
  const app = createApp({
    log,
    readiness,
    stopping: stopping.signal,
    answered: self.metrics.answered,
    identify: await openIdentity(self),
    served() {
      if (!served) throw new Error('nothing is served before the start is over');
      return served;
    },
  });
  const http = await listen(app, { host: config.host, port: config.port });
  const closeHttp = () => http.close(Math.max(leastHttpGraceMs, self.graceLeftMs()));
  shutdown.defer('http', closeHttp, config.shutdownGraceMs + lastResortMs);
  self.hurries.push(http.hurry);
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
  self.metrics.attach(database);
  const { metrics } = self;
  const wakes = await openWakes(self, database);
  const onHurry = (each: () => void) => self.hurries.push(each);
  const ground = { ...self, database, wakes, onHurry };
  const announcements = startDocuments(ground);
  const provider = openProvider(ground);
  // Again, because it closes before what its routes need; the first one is for a start that fails.
  shutdown.defer('http', closeHttp, config.shutdownGraceMs + lastResortMs);
  // What a plan may consist of. Another domain's tools are another line each.
  const mails = deliveryTool({ sender, ...(webhooks && { webhooks }) });
  const branches = provider ? [branchTool(provider)] : [];
  const tools = toolRegistry([noteWrite, noteDelete, mails, ...documentTools, ...branches]);
  const more = (limit: number) => ({ ...operationBatches(limit), ...proposalBatches(limit) });
  const retention = startRetention({ database, log, more });
  shutdown.defer('retention', retention.close);
  const plans = startProposals(ground, tools);
  startOperations(ground, provider);
  startDeliveries(ground, channels);
  const options = { database, sender, announcements, metrics, provider, plans };
  const all = { ...options, mailbox: mailbox !== undefined, ...(webhooks && { webhooks }) };
  served = { database, routes: routesOf(all, readiness) };
  readiness.begin(database);

  if (!config.databaseUrl) await writeRunning(runningFile, { pid: process.pid, url: http.url });
  log.info({ url: http.url, pid: process.pid }, 'listening');
  const hasToken = config.auth === undefined;
  process.stdout.write(greeting(http.url, { hasMailbox: mailbox !== undefined, hasToken }));
}

interface Surroundings {
  readonly hasMailbox: boolean;
  readonly hasToken: boolean;
}

function greeting(url: string, { hasMailbox, hasToken }: Surroundings): string {
  const token = hasToken ? '$(cat .fencepost/token)' : '…';
  return `
  Fencepost   ${url}
${hasMailbox ? `  Mailbox     ${url}/dev/mailbox\n` : ''}  Send a mail:

    curl -sS ${url}/v1/deliveries -H "authorization: Bearer ${token}" \\
      -H 'content-type: application/json' \\
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
    // Nothing of ours logs it; an error of a library might.
    redact: ['*.authorization', '*.headers.authorization', '*.*.headers.authorization'],
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  });
  const shutdown = openShutdown(log);
  const stopping = new AbortController();
  const readiness = openReadiness(stopping.signal);
  let stoppedAt: number | undefined;
  const self: Process = {
    ...{ config, log, shutdown, stopping, readiness },
    metrics: openMetrics({ machines, ofProcess: true }),
    graceLeftMs: () => config.shutdownGraceMs - (performance.now() - (stoppedAt ?? 0)),
    hurries: [],
  };
  const stopped = once(stopping.signal, 'abort');
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = stopping.signal.aborted;
    log.info({ signal, again }, 'stopping');
    if (again) hurry(self);
    else stopping.abort();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  stopping.signal.addEventListener('abort', () => {
    stoppedAt = performance.now();
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
