// Waiting for wake-ups: what ends a wait, and what becomes of the listening connection.

import { setMaxListeners } from 'node:events';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Database } from '../../persistence/database.ts';
import { wakeChannel } from '../../persistence/wake.ts';
import { openWakeListener, type WakeListenerOptions } from '../../persistence/wake-listener.ts';
import { enqueue } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { openProxy } from '../support/proxy.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();
const year = 365 * 86_400_000;
const never = new AbortController().signal;
setMaxListeners(0, never);

/** Sends from a process with one connection: what it sends last is also sent last. */
const sender = () => opened({ url: database().url, connections: 1, applicationName: 'sender' });

const notify = ({ db }: Database, payload: string) =>
  sql`select pg_notify(${wakeChannel}, ${payload})`.execute(db);

async function listener(options: WakeListenerOptions = {}, url = database().url) {
  const opened = await openWakeListener({ url, behindPooler: false }, options);
  onTestFinished(() => opened.close());
  return opened;
}

/** A listener that was woken for everything up to here. */
async function drained(options: WakeListenerOptions = {}, url = database().url) {
  const waiting = await listener(options, url);
  await waiting.wait('outbox', year, never);
  await waiting.wait('other', year, never);
  return waiting;
}

const listeners = async (): Promise<readonly number[]> => {
  const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
    where datname = current_database() and application_name = 'fencepost wake-ups'`.execute(
    database().db,
  );
  return rows.map(({ pid }) => pid);
};
const terminateListeners = async () => {
  for (const pid of await listeners()) {
    await sql`select pg_terminate_backend(${pid}::int4, 10000)`.execute(database().db);
  }
};

describe('a wait', () => {
  it('ends at a commit of another process that made work due', async () => {
    const waiting = await drained();
    const woken = waiting.wait('outbox', year, never);
    await enqueue(await sender());
    await woken;
  });

  it('ends at once when a wake-up came since the last one, and then no more', async () => {
    const from = await sender();
    const waiting = await drained();
    await notify(from, 'outbox');
    await notify(from, 'other');
    await waiting.wait('other', year, never);
    await waiting.wait('outbox', year, never);
    let again = false;
    const woken = waiting.wait('outbox', year, never).then(() => {
      again = true;
    });
    await notify(from, 'other');
    await waiting.wait('other', year, never);
    expect(again).toBe(false);
    await notify(from, 'outbox');
    await woken;
  });

  it('ends for all who wait', async () => {
    const waiting = await drained();
    const all = Array.from({ length: 20 }, () => waiting.wait('outbox', year, never));
    await notify(database(), 'outbox');
    await Promise.all(all);
  });

  it('ends at the abort, also at one that was before', async () => {
    const waiting = await drained();
    const stop = new AbortController();
    const ended = waiting.wait('outbox', year, stop.signal);
    stop.abort();
    await ended;
    await waiting.wait('outbox', year, stop.signal);
  });

  it('ends by its time limit where nobody listens', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const deaf = await openWakeListener({ url: proxy.url, behindPooler: true });
    expect([deaf.listening, proxy.connections]).toEqual([false, 0]);
    await deaf.wait('outbox', 1, never);
    await deaf.close();
  });

  it.each([2 ** 31, year, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    'of %d ms does not end at once',
    async (timeoutMs) => {
      const timers = vi.spyOn(globalThis, 'setTimeout');
      onTestFinished(() => timers.mockRestore());
      const deaf = await openWakeListener({ url: database().url, behindPooler: true });
      const stop = new AbortController();
      const ended = deaf.wait('outbox', timeoutMs, stop.signal);
      expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1]);
      stop.abort();
      await ended;
      await deaf.close();
    },
  );
});

describe('the listening connection', () => {
  it('is replaced when it is ended, twice in a row, and everybody is woken each time', async () => {
    const waiting = await drained();
    for (let round = 0; round < 2; round += 1) {
      const woken = waiting.wait('outbox', year, never);
      const pids = await listeners();
      await terminateListeners();
      await woken;
      expect(waiting.listening).toBe(true);
      expect(await listeners()).not.toEqual(pids);
    }
    const woken = waiting.wait('outbox', year, never);
    await enqueue(await sender());
    await woken;
    await waiting.close();
  });

  it('is replaced when it gives no sign of life, also while replacements give none', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const reasons: string[] = [];
    const twice = signal();
    const waiting = await drained(
      {
        signOfLifeMs: 20,
        answerMs: 1000,
        onLost: (reason) => {
          reasons.push(String(reason));
          if (reasons.length === 2) twice.give();
        },
      },
      proxy.url,
    );
    const woken = waiting.wait('outbox', year, never);
    proxy.hold();
    await twice.given;
    expect(reasons[0]).toContain('no answer within 1000 ms');
    proxy.release();
    await woken;
    const again = waiting.wait('outbox', year, never);
    await enqueue(await sender());
    await again;
    await waiting.close();
  });

  it('is given up where LISTEN is accepted and nothing is ever heard', async () => {
    const proxy = await openProxy(database().url, { isDeaf: true });
    onTestFinished(() => proxy.close());
    const reason = signal<unknown>();
    const deaf = await listener({ answerMs: 1000, onLost: reason.give }, proxy.url);
    expect(String(await reason.given)).toContain('LISTEN is accepted and silent');
    expect(deaf.listening).toBe(false);
    await deaf.wait('outbox', 1, never);
    await deaf.close();
  });

  it('is opened once the database is there, and until then waits end by time', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    proxy.hold();
    const early = await listener({ answerMs: 50 }, proxy.url);
    expect(early.listening).toBe(false);
    await early.wait('outbox', 1, never);
    const woken = early.wait('outbox', year, never);
    proxy.release();
    await woken;
    expect(early.listening).toBe(true);
    await early.close();
  });

  it('is gone after close, however often one is opened', async () => {
    const sockets = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const before = sockets();
    for (let i = 0; i < 50; i += 1) {
      const each = await openWakeListener(database());
      expect(each.listening).toBe(true);
      await each.close();
    }
    expect(sockets()).toBeLessThanOrEqual(before + 1);
    // The last session may still be on its way out.
    expect((await listeners()).length).toBeLessThanOrEqual(1);
  });
});
