// What a restarted Postgres, and one that is not heard any more, do to a service under load. Both
// are real; the receiver keeps its answers back, so that each blow hits running sends.

import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureDatabase } from '../persistence/create-database.ts';
import { type Database, openDatabase } from '../persistence/database.ts';
import {
  databaseUrl,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../persistence/embedded-postgres.ts';
import { transaction } from '../persistence/transaction.ts';
import { enqueueMany } from '../services/deliveries/enqueue.ts';
import { deliverySchema } from '../services/deliveries/new-delivery.ts';
import { useDatabase } from './support/database.ts';
import { openProxy } from './support/proxy.ts';
import { openReceiver } from './support/receiver.ts';
import { type ServerProcess, spawnServer } from './support/server-process.ts';

const schema = deliverySchema({});
const cleanups: (() => Promise<unknown>)[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-restart-'));
  // Postgres runs as another user where the tests run as root.
  await chmod(folder, 0o755);
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

function serve(env: Readonly<Record<string, string>>): ServerProcess {
  const soon = { POLL_MS: '100', REAP_MS: '100', LOG_LEVEL: 'debug' };
  const server = spawnServer(folder, { ...soon, ...env });
  cleanups.push(() => {
    server.kill('SIGKILL');
    return server.ended;
  });
  return server;
}

async function openHere() {
  const receiver = await openReceiver();
  cleanups.push(receiver.close);
  return receiver;
}

async function beside<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase({ url, connections: 1 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function enqueue(url: string, count: number): Promise<readonly string[]> {
  const mails = Array.from({ length: count }, (_, i) =>
    schema.parse({
      ...{ channel: 'email', to: `reader-${i}@example.com`, subject: `${i}`, body: 'It works.' },
    }),
  );
  return await beside(url, (database) =>
    transaction(database, (tx) => enqueueMany(tx, mails, { sender: 'me@example.com' })),
  );
}

const read = (url: string) =>
  beside(url, ({ db }) =>
    db
      .selectFrom('fencepost.delivery')
      .select(['status', 'message_key', 'failures', 'lease_losses'])
      .forNoKeyUpdate()
      .execute(),
  );

const [before, flying, after] = [150, 20, 30];
// A claim whose answer was lost comes back with its lease.
const env = { CONCURRENCY: String(flying), LEASE_MS: '10000', SEND_TIMEOUT_MS: '5000' };

interface Restart {
  readonly url: string;
  readonly server: ServerProcess;
  readonly receiver: Awaited<ReturnType<typeof openReceiver>>;
  readonly stop: () => Promise<unknown>;
  readonly start: () => Promise<unknown>;
}

/** Stops Postgres in the middle of sends, lets these end, and starts it again. */
async function restart({ url, server, receiver, stop, start }: Restart): Promise<void> {
  await server.url();
  receiver.hold(before / 3);
  await enqueue(url, before);
  await receiver.held(flying);
  await stop();
  receiver.open();
  await server.logged('not everything was written');
  await start();
  await enqueue(url, after);
  await receiver.acceptedOnce(before + after);
  server.kill('SIGTERM');
}

async function expectAllSent(url: string, keys: readonly string[]): Promise<void> {
  const rows = await read(url);
  expect(rows).toHaveLength(before + after);
  expect(rows.filter(({ status }) => status !== 'sent')).toEqual([]);
  expect(rows.filter(({ failures }) => failures > 0)).toEqual([]);
  expect([...new Set(keys)]).toEqual(rows.map((row) => row.message_key).sort());
  // Whoever kept its lease wrote its end late, and nothing was sent again.
  const losses = rows.reduce((sum, row) => sum + row.lease_losses, 0);
  expect(keys.length - rows.length).toBeLessThanOrEqual(losses);
}

describe('a restart of Postgres in the middle of sends', () => {
  it('is outlived where it is somebody else’s', async () => {
    const dataDir = join(folder, 'theirs');
    let postgres = await startEmbeddedPostgres({ dataDir, throwaway: false });
    cleanups.push(() => postgres.stop());
    const { port } = postgres;
    const url = await ensureDatabase(postgres.url, 'theirs');
    const receiver = await openHere();
    const server = serve({ ...env, DATABASE_URL: url, SMTP_URL: receiver.url });
    await restart({
      ...{ url, server, receiver },
      stop: () => postgres.stop(),
      async start() {
        postgres = await startEmbeddedPostgres({ dataDir, throwaway: false, port });
      },
    });
    expect(await server.ended).toBe(0);
    await expectAllSent(url, receiver.keys());
  });

  it('is outlived where it is the embedded one', async () => {
    const dataDir = join(folder, '.fencepost', 'postgres');
    const receiver = await openHere();
    const server = serve({ ...env, SMTP_URL: receiver.url });
    await server.url();
    const url = databaseUrl((await findEmbeddedPostgres(dataDir)) ?? '', 'fencepost');
    await restart({
      ...{ url, server, receiver },
      async stop() {
        const [pid] = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
        process.kill(Number(pid), 'SIGINT');
        await server.logged('the embedded Postgres ended by itself');
      },
      start: () => server.logged('the embedded Postgres runs again'),
    });
    expect(await server.ended).toBe(0);
    const postgres = await startEmbeddedPostgres({ dataDir, throwaway: false });
    cleanups.push(() => postgres.stop());
    await expectAllSent(databaseUrl(postgres.url, 'fencepost'), receiver.keys());
  });
});

describe('a service whose wake-ups are not heard any more', () => {
  const url = useDatabase();

  it('takes up work by its poll, without knowing', async () => {
    const proxy = await openProxy(url());
    cleanups.push(proxy.close);
    const receiver = await openHere();
    receiver.open();
    const server = serve({ DATABASE_URL: proxy.url, SMTP_URL: receiver.url });
    await server.url();
    await enqueue(url(), 1);
    await receiver.accepted(1);
    expect(proxy.holdListeners()).toBe(1);
    await enqueue(url(), 3);
    await receiver.accepted(4);
    expect(server.output()).not.toContain('nobody wakes the workers');
    // It hangs up on who does not answer, and ends.
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect((await read(url())).map(({ status }) => status)).toEqual(Array(4).fill('sent'));
  });
});
