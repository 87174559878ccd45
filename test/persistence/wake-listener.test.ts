// Wake-ups: who is told of what, and what becomes of the listening connection.

import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../persistence/database.ts';
import { wakeChannel } from '../../persistence/wake.ts';
import {
  openWakeListener,
  type WakeListener,
  type WakeListenerOptions,
} from '../../persistence/wake-listener.ts';
import { enqueue } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { openProxy } from '../support/proxy.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();

/** Sends from a process with one connection: what it sends last is also sent last. */
const sender = () => opened({ url: database().url, connections: 1, applicationName: 'sender' });

const notify = ({ db }: Database, payload: string) =>
  sql`select pg_notify(${wakeChannel}, ${payload})`.execute(db);

async function listener(options: WakeListenerOptions = {}, url = database().url) {
  const opened = await openWakeListener({ url, behindPooler: false }, options);
  onTestFinished(() => opened.close());
  return opened;
}

/** Resolves at the next wake-up. */
function woken(listening: Pick<WakeListener, 'onWake'>, machine = 'outbox'): Promise<void> {
  const told = signal();
  const forget = listening.onWake(machine, () => {
    forget();
    told.give();
  });
  return told.given;
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

describe('who listens', () => {
  it('is told of a commit of another process that made work due', async () => {
    const told = woken(await listener());
    await enqueue(await sender());
    await told;
  });

  it('is told of its own machine alone, each time', async () => {
    const from = await sender();
    const listening = await listener();
    const heard: string[] = [];
    listening.onWake('outbox', () => heard.push('outbox'));
    listening.onWake('other', () => heard.push('other'));
    for (const machine of ['outbox', 'other', 'other', 'nobody']) await notify(from, machine);
    const last = woken(listening, 'the end');
    await notify(from, 'the end');
    await last;
    expect(heard).toEqual(['outbox', 'other', 'other']);
  });

  it('is told beside all others, until it wants to hear no more', async () => {
    const listening = await listener();
    let told = 0;
    const forget = listening.onWake('outbox', () => {
      told += 1;
    });
    const all = Array.from({ length: 20 }, () => woken(listening));
    await notify(database(), 'outbox');
    await Promise.all(all);
    forget();
    const again = woken(listening);
    await notify(database(), 'outbox');
    await again;
    expect(told).toBe(1);
  });

  it('is told nothing behind a pooler, where no connection is made for it', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const deaf = await openWakeListener({ url: proxy.url, behindPooler: true });
    expect([deaf.listening, proxy.connections]).toEqual([false, 0]);
    await deaf.close();
  });
});

describe('the listening connection', () => {
  it('is replaced when it is ended, twice in a row, and everybody is woken each time', async () => {
    const waiting = await listener();
    for (let round = 0; round < 2; round += 1) {
      const told = woken(waiting);
      const pids = await listeners();
      await terminateListeners();
      await told;
      expect(waiting.listening).toBe(true);
      expect(await listeners()).not.toEqual(pids);
    }
    const told = woken(waiting);
    await enqueue(await sender());
    await told;
    await waiting.close();
  });

  it('is replaced when it gives no sign of life, also while replacements give none', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const reasons: string[] = [];
    const twice = signal();
    const waiting = await listener(
      {
        signOfLifeMs: 20,
        answerMs: 100,
        onLost: (reason) => {
          reasons.push(String(reason));
          if (reasons.length === 2) twice.give();
        },
      },
      proxy.url,
    );
    const told = woken(waiting);
    proxy.hold();
    await twice.given;
    expect(reasons[0]).toContain('no answer within 100 ms');
    proxy.release();
    await told;
    const again = woken(waiting);
    await enqueue(await sender());
    await again;
    await waiting.close();
  });

  it('is given up where LISTEN is accepted and nothing is ever heard', async () => {
    const proxy = await openProxy(database().url, { isDeaf: true });
    onTestFinished(() => proxy.close());
    const reason = signal<unknown>();
    const deaf = await listener({ answerMs: 50, onLost: reason.give }, proxy.url);
    expect(String(await reason.given)).toContain('LISTEN is accepted and silent');
    expect(deaf.listening).toBe(false);
    await deaf.close();
  });

  it('is opened once the database is there, and everybody is told', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    proxy.hold();
    const early = await listener({ answerMs: 50 }, proxy.url);
    expect(early.listening).toBe(false);
    const told = woken(early);
    proxy.release();
    await told;
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
