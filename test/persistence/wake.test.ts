// Wake-ups from one process to another: what sends one, what does not, and how few there are.
//
// - That something is not sent is seen by what comes behind it: notifications keep their order.

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Database } from '../../persistence/database.ts';
import { send } from '../../persistence/door.ts';
import { transaction } from '../../persistence/transaction.ts';
import { wakeChannel } from '../../persistence/wake.ts';
import { claimed, claimedOne, empty, enqueue, enqueueIn, force } from '../support/deliveries.ts';
import { connected, opened, useOpened } from '../support/opened.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();

/** Sends from a process with one connection: what it sends last is also sent last. */
const sender = () => opened({ url: database().url, connections: 1, applicationName: 'sender' });

const notify = ({ db }: Database, payload: string) =>
  sql`select pg_notify(${wakeChannel}, ${payload})`.execute(db);

/** Counts the wake-ups that were sent while `work` ran. */
async function wakesOf(from: Database, work: () => Promise<unknown>): Promise<number> {
  const client = await connected(new pg.Client({ connectionString: database().url }));
  await client.query(`listen ${wakeChannel}`);
  const done = signal();
  let wakes = 0;
  client.on('notification', ({ payload }) => {
    if (payload === 'the end') done.give();
    else wakes += 1;
  });
  await work();
  await notify(from, 'the end');
  await done.given;
  return wakes;
}

describe('a wake-up', () => {
  it('is sent by a commit that made work due, with the name of the machine', async () => {
    const client = await connected(new pg.Client({ connectionString: database().url }));
    await client.query(`listen ${wakeChannel}`);
    const payload = signal<string | undefined>();
    client.on('notification', (message) => payload.give(message.payload));
    await enqueue(await sender());
    expect(await payload.given).toBe('outbox');
  });

  it('is sent by an event that gives a run back, and by none that puts it off', async () => {
    const from = await sender();
    await empty(database());
    await enqueue(database(), 2);
    const [first, second] = await claimed(database(), 2);
    if (!first || !second) throw new Error('two were enqueued');
    const credentials = { id: first.id, fence: first.attempts };
    const failed = { ...credentials, retryable: true, error: 'no' };
    const later = () => transaction(from, (tx) => send(tx, outbox, 'fail', failed));
    expect(await wakesOf(from, later)).toBe(0);
    const released = { id: second.id, fence: second.attempts };
    const back = () => transaction(from, (tx) => send(tx, outbox, 'release', released));
    expect(await wakesOf(from, back)).toBe(1);
  });

  it('is not sent when nothing moved', async () => {
    const { id, attempts: fence } = await claimedOne(database());
    await force(database(), id, 'attempts = attempts + 1');
    const from = await sender();
    const nothing = async () => {
      await transaction(from, (tx) => send(tx, outbox, 'release', { id, fence }));
      await enqueue(from, 0);
      await claimed(from);
    };
    expect(await wakesOf(from, nothing)).toBe(0);
  });

  it('is not sent when the transaction is rolled back', async () => {
    const from = await sender();
    const failing = async () => {
      const work = transaction(from, async (tx) => {
        await enqueueIn(tx);
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
    };
    expect(await wakesOf(from, failing)).toBe(0);
  });

  it('is not sent behind a pooler', async () => {
    const from = await sender();
    expect(await wakesOf(from, () => enqueue({ ...from, behindPooler: true }))).toBe(0);
  });

  it('stands for many commits', async () => {
    const from = await sender();
    const many = async () => {
      for (let i = 0; i < 200; i += 1) await enqueue(from);
    };
    const wakes = await wakesOf(from, many);
    expect(wakes).toBeGreaterThanOrEqual(1);
    expect(wakes).toBeLessThan(100);
  });

  it('follows each commit, also one that came too soon after another', async () => {
    const client = await connected(new pg.Client({ connectionString: database().url }));
    await client.query(`listen ${wakeChannel}`);
    const twice = signal();
    let wakes = 0;
    client.on('notification', () => {
      wakes += 1;
      if (wakes === 2) twice.give();
    });
    const from = await sender();
    await enqueue(from);
    await enqueue(from);
    await twice.given;
  });
});
