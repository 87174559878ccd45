// `npm run demo:crash`: kills the service in the middle of 200 sends, starts it again, and shows
// what became of each. It takes about 15 seconds and leaves nothing behind.
//
// - All of it is real: server.ts as a process, SIGKILL, a Postgres of its own in a temporary
//   folder. Only the mail server is made up: it is slow, and writes down each Message-ID it got.
// - The exit code is 0 only if every check at the end holds.

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensureDatabase } from '../persistence/create-database.ts';
import { type Database, openDatabase } from '../persistence/database.ts';
import { readDeliveryJournal } from '../persistence/deliveries.ts';
import { startEmbeddedPostgres } from '../persistence/embedded-postgres.ts';
import { transaction } from '../persistence/transaction.ts';
import { enqueueMany } from '../services/deliveries/enqueue.ts';
import { deliverySchema } from '../services/deliveries/new-delivery.ts';
import { openMailSink } from '../test/support/mail-sink.ts';
import { type ServerProcess, spawnServer } from '../test/support/server-process.ts';

const total = 200;
const atOnce = 50;
const leaseMs = 3000;
const limitMs = 60_000;
const serviceEnv = {
  CONCURRENCY: String(atOnce),
  LEASE_MS: String(leaseMs),
  HEARTBEAT_MS: '500',
  SEND_TIMEOUT_MS: '2500',
  POLL_MS: '100',
  REAP_MS: '200',
};

const begin = performance.now();
const cleanups: (() => Promise<unknown>)[] = [];

const seconds = (ms: number) => `${(ms / 1000).toFixed(1).padStart(5)} s`;
const say = (text: string) => console.log(`${seconds(performance.now() - begin)}  ${text}`);

async function cleanUp(): Promise<void> {
  for (let next = cleanups.pop(); next; next = cleanups.pop()) await next();
}

/** A mail server that takes its time with every answer. */
async function openSlowReceiver() {
  let open = 0;
  let tell = () => {};
  const busy = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const sink = await openMailSink(async (stage) => {
    if (stage !== 'data') return undefined;
    open += 1;
    if (sink.mails.length >= total / 4 && open >= 0.8 * atOnce) tell();
    await pause(300 + Math.random() * 400);
    open -= 1;
    return undefined;
  });
  cleanups.push(sink.close);
  return {
    url: sink.url,
    /** Resolves when a quarter was accepted and it is in the middle of many others. */
    busy,
    open: () => open,
    accepted: () => sink.mails.length,
    /** How often each Message-ID came. */
    seen(): ReadonlyMap<string, number> {
      const times = new Map<string, number>();
      for (const mail of sink.mails) {
        const key = /^message-id: (\S+)/im.exec(mail)?.[1] ?? '';
        times.set(key, (times.get(key) ?? 0) + 1);
      }
      return times;
    },
  };
}

type Receiver = Awaited<ReturnType<typeof openSlowReceiver>>;

function serve(folder: string, databaseUrl: string, smtpUrl: string): ServerProcess {
  const env = { ...serviceEnv, DATABASE_URL: databaseUrl, SMTP_URL: smtpUrl };
  const service = spawnServer(folder, env);
  cleanups.push(() => {
    service.kill('SIGKILL');
    return service.ended;
  });
  return service;
}

async function enqueue(database: Database): Promise<void> {
  const schema = deliverySchema({});
  const mails = Array.from({ length: total }, (_, i) =>
    schema.parse({
      channel: 'email',
      to: `reader-${i + 1}@example.com`,
      subject: `Mail ${i + 1} of ${total}`,
      body: 'It survived.',
    }),
  );
  await transaction(database, (tx) => enqueueMany(tx, mails, { sender: 'demo@example.com' }));
}

async function read({ db }: Database) {
  return await db
    .selectFrom('fencepost.delivery')
    .select(['id', 'status', 'message_key', 'failures', 'lease_losses'])
    .orderBy('id')
    .execute();
}

type Row = Awaited<ReturnType<typeof read>>[number];

const counted = (rows: readonly Row[], status: string) =>
  rows.filter((row) => row.status === status).length;
const summary = (rows: readonly Row[]) =>
  ['sent', 'processing', 'pending', 'failed', 'dead']
    .map((status) => [counted(rows, status), status] as const)
    .filter(([count]) => count > 0)
    .map(([count, status]) => `${count} ${status}`)
    .join(', ');

/** Says twice a second how far it is, until nothing is on its way. */
async function watch(database: Database): Promise<readonly Row[]> {
  let last = '';
  for (;;) {
    const rows = await read(database);
    const text = summary(rows);
    if (text !== last) say(text);
    last = text;
    const open = counted(rows, 'pending') + counted(rows, 'processing');
    if (open === 0 || performance.now() - begin > limitMs) return rows;
    await pause(500);
  }
}

/** What happened to one delivery, in lines. */
async function tellStory({ db }: Database, { id, message_key: key }: Row, receiver: Receiver) {
  const journal = await readDeliveryJournal(db, id);
  const first = journal[0]?.at ?? 0;
  console.log(`\nOne that was in flight when the process died, ${id}:\n`);
  for (const { at, event, from_status: from, to_status: to, fence } of journal) {
    const since = seconds((at - first) / 1000);
    console.log(`  ${since}  ${(event ?? '').padEnd(13)}  ${from} → ${to}, attempt ${fence}`);
  }
  const times = receiver.seen().get(key) ?? 0;
  console.log(`\n  The receiver has it ${times === 2 ? 'twice' : `${times} times`}, as ${key}.`);
}

function check(rows: readonly Row[], receiver: Receiver): boolean {
  const seen = receiver.seen();
  const failures = rows.reduce((sum, row) => sum + row.failures, 0);
  const missing = rows.filter(({ message_key: key }) => !seen.has(key)).length;
  const stuck = counted(rows, 'pending') + counted(rows, 'processing');
  const checks = [
    [`${counted(rows, 'sent')} of ${total} are sent`, counted(rows, 'sent') === total],
    [`${stuck} are stuck`, stuck === 0],
    [`${missing} never reached the receiver`, missing === 0],
    [`${failures} failures were counted: a crash is not the message's fault`, failures === 0],
  ] as const;
  console.log('');
  for (const [text, holds] of checks) console.log(`  ${holds ? 'ok    ' : 'NOT OK'}  ${text}`);
  return checks.every(([, holds]) => holds);
}

/** A database and a receiver, which go with the demonstration. */
async function prepare() {
  const folder = await mkdtemp(join(tmpdir(), 'fencepost-demo-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  // Started as root, Postgres runs as another user, who must reach it.
  await chmod(folder, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), throwaway: true });
  cleanups.push(postgres.stop);
  const url = await ensureDatabase(postgres.url, 'demo');
  const receiver = await openSlowReceiver();
  say('a throwaway Postgres and a slow mail server run');
  return { url, receiver, start: () => serve(folder, url, receiver.url) };
}

/** Kills the service in the middle of its work, and says what it left behind. */
async function kill(service: ServerProcess, receiver: Receiver, database: Database) {
  const diedBefore = service.ended.then(() => {
    throw new Error(`the service ended by itself:\n${service.output()}`);
  });
  await Promise.race([receiver.busy, diedBefore]);
  const [accepted, open] = [receiver.accepted(), receiver.open()];
  service.kill('SIGKILL');
  await service.ended;
  say(`kill -9 ${service.pid}: the mail server has ${accepted}, and was in the middle of ${open}`);
  const rows = await read(database);
  say(`the database says: ${summary(rows)}`);
  say(`nobody works on those ${counted(rows, 'processing')} now, and nobody told the database`);
}

async function demonstrate(): Promise<boolean> {
  const { url, receiver, start } = await prepare();
  const first = start();
  await first.url();
  say(`the service runs, process ${first.pid}; its leases last ${leaseMs / 1000} s`);
  const database = await openDatabase({ url, connections: 2 });
  cleanups.push(database.close);
  await enqueue(database);
  say(`${total} mails are enqueued, in one transaction`);
  await kill(first, receiver, database);

  const second = start();
  await second.url();
  say(`the service runs again, process ${second.pid}`);
  const rows = await watch(database);
  say('nothing is on its way any more');

  const seen = receiver.seen();
  const lapsed = rows.filter((row) => row.lease_losses > 0);
  const twice = [...seen.values()].filter((times) => times > 1).length;
  console.log(`
  ${total - lapsed.length} never noticed
  ${lapsed.length} lost their worker: the lease ran out, and the next worker had them
  ${twice} came twice, under the same Message-ID: the answer found nobody who could hear it`);
  const one = lapsed.find(({ message_key: key }) => (seen.get(key) ?? 0) > 1) ?? lapsed[0];
  if (one) await tellStory(database, one, receiver);
  return check(rows, receiver);
}

const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  }
});
let isFine = false;
try {
  isFine = await Promise.race([demonstrate(), interrupted]);
} catch (error) {
  console.error(error);
}
await cleanUp();
process.exit(isFine ? 0 : 1);
