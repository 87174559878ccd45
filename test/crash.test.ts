// What a dying, a frozen and a restarted service do to deliveries. The processes are real, and so
// are the signals; the receiver keeps its answers back, so that each signal hits running sends.

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../persistence/database.ts';
import { transaction } from '../persistence/transaction.ts';
import { enqueueMany } from '../services/deliveries/enqueue.ts';
import { deliverySchema } from '../services/deliveries/new-delivery.ts';
import { useDatabase } from './support/database.ts';
import { refusal } from './support/mail-sink.ts';
import { openReceiver } from './support/receiver.ts';
import { type ServerProcess, spawnServer } from './support/server-process.ts';

const schema = deliverySchema({});
/** RESTARTS=10 takes twice as long. */
const restarts = Number(process.env['RESTARTS'] ?? 5);
const url = useDatabase();
const cleanups: (() => Promise<unknown>)[] = [];
let folder: string;
let database: Database;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-crash-'));
  await chmod(folder, 0o755);
  database = await openDatabase({ url: url(), connections: 1 });
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

function serve(smtpUrl: string, env: Readonly<Record<string, string>>): ServerProcess {
  const soon = { POLL_MS: '100', REAP_MS: '100', LOG_LEVEL: 'debug' };
  const server = spawnServer(folder, { ...soon, DATABASE_URL: url(), SMTP_URL: smtpUrl, ...env });
  cleanups.push(() => {
    server.kill('SIGKILL');
    return server.ended;
  });
  return server;
}

async function enqueue(count: number): Promise<readonly string[]> {
  const mails = Array.from({ length: count }, (_, i) =>
    schema.parse({
      channel: 'email',
      to: `reader-${i}@example.com`,
      subject: `Number ${i}`,
      body: 'It survived.',
    }),
  );
  return await transaction(database, (tx) => enqueueMany(tx, mails, { sender: 'me@example.com' }));
}

/** Locks, so that a commit that was under way when its process died comes first. */
async function read(ids: readonly string[]) {
  return await database.db
    .selectFrom('fencepost.delivery')
    .select(['status', 'message_key', 'attempts', 'failures', 'lease_losses', 'maybe_twice'])
    .where('id', 'in', ids)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

type Row = Awaited<ReturnType<typeof read>>[number];

const withStatus = (rows: readonly Row[], status: string) =>
  rows.filter((row) => row.status === status);
const keysOf = (rows: readonly Row[]) => rows.map((row) => row.message_key).sort();
const sum = (rows: readonly Row[], column: 'failures' | 'lease_losses') =>
  rows.reduce((total, row) => total + row[column], 0);

async function openHere(passing = 0) {
  const receiver = await openReceiver(passing);
  cleanups.push(receiver.close);
  return receiver;
}

const repeated = (sorted: readonly string[]) => sorted.filter((key, i) => key === sorted[i - 1]);

describe('a crash', () => {
  it('delivers all that was in flight when the process is killed', async () => {
    const [passing, flying] = [40, 60];
    const receiver = await openHere(passing);
    const env = { CONCURRENCY: String(flying), LEASE_MS: '6000', SEND_TIMEOUT_MS: '4000' };
    const first = serve(receiver.url, env);
    await first.url();
    const ids = await enqueue(200);
    await Promise.all([receiver.held(flying), first.logged('delivery: sent')]);
    first.kill('SIGKILL');
    expect(await first.ended).toBeNull();

    const left = await read(ids);
    const taken = withStatus(left, 'processing');
    const sent = withStatus(left, 'sent');
    expect(taken.length).toBeGreaterThanOrEqual(flying);
    expect(taken.length + sent.length + withStatus(left, 'pending').length).toBe(ids.length);
    // What the dead process did not write is sent by its successor, beside what it had sent itself.
    receiver.open();
    const second = serve(receiver.url, env);
    await receiver.accepted(passing + flying + ids.length - sent.length);
    second.kill('SIGTERM');
    expect(await second.ended).toBe(0);

    const rows = await read(ids);
    expect(withStatus(rows, 'sent')).toHaveLength(ids.length);
    expect(sum(rows, 'failures')).toBe(0);
    expect(sum(rows, 'lease_losses')).toBe(taken.length);
    expect(rows.filter((row) => row.attempts !== row.lease_losses + 1)).toEqual([]);
    const keys = receiver.keys();
    expect([...new Set(keys)]).toEqual(keysOf(rows));
    const twice = repeated(keys);
    expect(twice.length).toBeGreaterThanOrEqual(flying);
    expect(keysOf(taken)).toEqual(expect.arrayContaining(twice));
  });
});

describe('a process that stood still past its lease', () => {
  it('changes nothing when it comes back, and what it tried is recorded', async () => {
    const count = 20;
    const [heard, obeyed] = [await openHere(), await openHere()];
    const env = { CONCURRENCY: String(count), LEASE_MS: '4000', SEND_TIMEOUT_MS: '2500' };
    const frozen = serve(heard.url, env);
    await frozen.url();
    const ids = await enqueue(count);
    await heard.held(count);
    frozen.kill('SIGSTOP');
    // It was told that all went well, and hears of it too late.
    heard.open();
    await heard.accepted(count);
    const other = serve(obeyed.url, { CONCURRENCY: String(count) });
    await obeyed.held(count);
    const before = await read(ids);
    expect(withStatus(before, 'processing')).toHaveLength(count);

    frozen.kill('SIGCONT');
    await frozen.logged('too late, changed nothing');
    frozen.kill('SIGTERM');
    expect(await frozen.ended).toBe(0);
    expect(await read(ids)).toEqual(before);
    const lost = await database.db
      .selectFrom('fencepost.lost_write')
      .select(['run', 'event', 'fence', 'found_fence', 'found_status'])
      .where('run', 'in', ids)
      .execute();
    const ends = lost.filter(({ event }) => event !== 'renew');
    expect(ends.map(({ run }) => run).sort()).toEqual([...ids].sort());
    for (const each of lost) {
      expect(each).toMatchObject({ fence: 1, found_fence: 2, found_status: 'processing' });
    }

    obeyed.answer((i) => (i % 2 === 0 ? undefined : refusal(550)));
    other.kill('SIGTERM');
    expect(await other.ended).toBe(0);
    const rows = await read(ids);
    expect(keysOf(withStatus(rows, 'sent'))).toEqual(obeyed.keys());
    expect(withStatus(rows, 'failed')).toHaveLength(count / 2);
    for (const row of rows) {
      const failures = row.status === 'failed' ? 1 : 0;
      expect(row).toMatchObject({ attempts: 2, lease_losses: 1, failures });
    }
  });
});

describe('a rolling restart', () => {
  it('costs no delivery anything, and sends none twice', async () => {
    const [load, passing, share] = [120, 40, 20];
    const receiver = await openHere();
    const env = { CONCURRENCY: String(share), BATCH: String(share) };
    const steady = serve(receiver.url, env);
    let restarted = serve(receiver.url, env);
    const ids: string[] = [];
    for (let round = 0; round < restarts; round += 1) {
      await Promise.all([steady.url(), restarted.url()]);
      // Who has ended some claims ahead: what it did not begin is given back as well.
      receiver.hold(passing);
      ids.push(...(await enqueue(load)));
      // Neither sends more than its share at once, so both are in the middle of theirs.
      await receiver.held(2 * share);
      restarted.kill('SIGTERM');
      await restarted.logged('stopping');
      receiver.open();
      expect(await restarted.ended).toBe(0);
      restarted = serve(receiver.url, env);
    }
    await Promise.all([receiver.accepted(restarts * load), restarted.url()]);
    for (const server of [steady, restarted]) {
      server.kill('SIGTERM');
      expect(await server.ended).toBe(0);
    }

    const rows = await read(ids);
    expect(withStatus(rows, 'sent')).toHaveLength(restarts * load);
    expect([sum(rows, 'failures'), sum(rows, 'lease_losses')]).toEqual([0, 0]);
    expect(rows.filter((row) => row.maybe_twice)).toEqual([]);
    expect(receiver.keys()).toEqual(keysOf(rows));
  }, 180_000);
});
