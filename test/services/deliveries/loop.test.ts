import { Writable } from 'node:stream';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { claim, sweep } from '../../../persistence/claims.ts';
import { type Database, openDatabase } from '../../../persistence/database.ts';
import { readDelivery } from '../../../persistence/deliveries.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { openWakeListener, type WakeListener } from '../../../persistence/wake-listener.ts';
import type { Channel, Failed, Sent } from '../../../services/deliveries/channel.ts';
import { enqueueEmail } from '../../../services/deliveries/enqueue.ts';
import { type DeliveryLoop, startDeliveryLoop } from '../../../services/deliveries/loop.ts';
import { newDelivery } from '../../../services/deliveries/new-delivery.ts';
import { cloneDatabase, type TestDatabase } from '../../support/database.ts';
import { gate } from '../../support/mail-sink.ts';

// A database a test: a loop would take up what another test left pending.
let clone: TestDatabase;
let database: Database;
let wakes: WakeListener;
let loop: DeliveryLoop | undefined;

beforeEach(async () => {
  clone = await cloneDatabase();
  database = await openDatabase({ url: clone.url });
  wakes = await openWakeListener(database);
});

afterEach(async () => {
  await loop?.stop(0);
  loop = undefined;
  await wakes.close();
  await database.close();
  await clone.drop();
});

/** A log that a test can wait for. */
function listeningLog() {
  const lines: { readonly msg: string; readonly delivery?: string }[] = [];
  let tell = () => {};
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      tell();
      done();
    },
  });
  const logged = (message: string, delivery: string) =>
    new Promise<void>((resolve) => {
      tell = () => {
        if (lines.some((line) => line.msg === message && line.delivery === delivery)) resolve();
      };
      tell();
    });
  return { log: pino(stream), logged };
}

function start(send: Channel['send'], overrides: { readonly concurrency?: number } = {}) {
  const { log, logged } = listeningLog();
  loop = startDeliveryLoop({
    database,
    wakes,
    channel: { name: 'email', effect: 'at-least-once', send },
    log,
    leaseMs: 300_000,
    sendTimeoutMs: 30_000,
    pollMs: 60_000,
    reapMs: 60_000,
    concurrency: 10,
    ...overrides,
  });
  return { loop, logged };
}

const enqueue = () =>
  transaction(database, (tx) => {
    const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'Text' };
    return enqueueEmail(tx, newDelivery.parse(email), 'me@example.com');
  });

const read = async (id: string) => await readDelivery(database.db, id);
const sent: Sent = { result: 'sent', receipt: { response: '250 ok' } };
const failed = (fields: Partial<Failed>): Failed => ({
  result: 'failed',
  retryable: true,
  unknown: false,
  error: 'Error: no',
  ...fields,
});

describe('the delivery loop', () => {
  it('is woken by an enqueue, sends, and writes the receipt', async () => {
    const { logged } = start(async () => sent);
    const id = await enqueue();
    await logged('delivery: sent', id);
    expect(await read(id)).toMatchObject({ status: 'sent', attempts: 1, receipt: sent.receipt });
  });

  it.each([
    [failed({}), { status: 'pending', failures: 1, maybe_twice: false, last_error: 'Error: no' }],
    [failed({ unknown: true }), { status: 'pending', failures: 1, maybe_twice: true }],
    [failed({ retryable: false }), { status: 'failed', failures: 1 }],
  ])('writes %o as a failure', async (result, expected) => {
    const { logged } = start(async () => result);
    const id = await enqueue();
    await logged('delivery: fail', id);
    expect(await read(id)).toMatchObject(expected);
  });

  it('writes what a broken channel throws, and goes on', async () => {
    const { logged } = start(async ({ messageKey }) => {
      if (messageKey !== broken.key) return sent;
      throw undefined;
    });
    const broken = { key: '' };
    const id = await transaction(database, async (tx) => {
      const email = { channel: 'email', to: 'a@example.com', subject: '', body: '' };
      const created = await enqueueEmail(tx, newDelivery.parse(email), 'me@example.com');
      broken.key = (await readDelivery(tx, created))?.message_key ?? '';
      return created;
    });
    await logged('delivery: fail', id);
    expect(await read(id)).toMatchObject({
      status: 'pending',
      maybe_twice: true,
      last_error: 'undefined (nothing was thrown)',
    });
    const next = await enqueue();
    await logged('delivery: sent', next);
  });

  it('changes nothing with an end that comes after the lease went to somebody else', async () => {
    const stage = gate();
    const { logged } = start(async () => {
      await stage.pass();
      return sent;
    });
    const id = await enqueue();
    await stage.arrived;
    const before = await read(id);
    await sql`update fencepost.delivery set lease_expires_at = now() - interval '1 second'
      where id = ${id}`.execute(database.db);
    await transaction(database, (tx) => sweep(tx, outbox, 'lease.expired', { limit: 10 }));
    await sql`update fencepost.delivery set next_attempt_at = now() where id = ${id}`.execute(
      database.db,
    );
    const mine = { limit: 1, where: { channel: 'email' }, owner: 'another', lease_ms: 60_000 };
    await transaction(database, (tx) => claim(tx, outbox, 'claim', mine));
    stage.open();
    await logged('delivery: too late, changed nothing', id);
    expect(await read(id)).toMatchObject({
      status: 'processing',
      attempts: (before?.attempts ?? 0) + 1,
      receipt: null,
    });
    const { rows } = await sql`select event, fence, found_fence from fencepost.lost_write
      where run = ${id}`.execute(database.db);
    expect(rows).toEqual([{ event: 'sent', fence: 1, found_fence: 2 }]);
  });

  it('gives back what no receiver heard of when it must stop at once', async () => {
    const stage = gate();
    const { loop } = start(async (_message, signal) => {
      void stage.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return failed({});
    });
    const id = await enqueue();
    await stage.arrived;
    await loop.stop(0);
    expect(await read(id)).toMatchObject({ status: 'pending', attempts: 1, failures: 0 });
  });

  it('lets a running send end when it stops, and claims nothing more', async () => {
    const stage = gate();
    const { loop } = start(
      async () => {
        await stage.pass();
        return sent;
      },
      { concurrency: 1 },
    );
    const first = await enqueue();
    await stage.arrived;
    const second = await enqueue();
    const stopped = loop.stop(60_000);
    stage.open();
    await stopped;
    expect(await read(first)).toMatchObject({ status: 'sent' });
    expect(await read(second)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  it('sends no more at once than its slots, and fills a slot that became free', async () => {
    let atOnce = 0;
    let most = 0;
    const { logged } = start(
      async () => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        await new Promise(setImmediate);
        atOnce -= 1;
        return sent;
      },
      { concurrency: 2 },
    );
    const ids = await Promise.all(Array.from({ length: 9 }, enqueue));
    for (const id of ids) await logged('delivery: sent', id);
    expect(most).toBe(2);
  });
});
