// Waits for wake-ups on a connection of its own. Workers wait here between two claims.
//
// - Polling is the truth: every wait ends at its time limit, whether anybody listens or not.
// - LISTEN dies silently (a half-open connection, a pooler), so it is tested at start by a NOTIFY
//   to itself, and asked for a sign of life in between; a connection that gives none is replaced.
// - After each new LISTEN everybody is woken once: what came while nobody listened is then found.
// - Behind a pooler nobody listens, and `listening` says so.
//   Source: PostgreSQL manual, LISTEN.

import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { cutConnection } from './cut-connection.ts';
import type { Database } from './database.ts';
import { wakeChannel } from './wake.ts';
import { within } from './within.ts';

export interface WakeListener {
  /** False where only polling wakes: behind a pooler, or where the self-test failed. */
  readonly listening: boolean;
  /**
   * Resolves at a wake-up for the machine, at the time limit or at the abort, whichever is first. A
   * wake-up that came since the last wait resolves it at once.
   */
  wait(machine: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
  /** Calls at each wake-up for the machine, until the returned function is called. */
  onWake(machine: string, tell: () => void): () => void;
  close(): Promise<void>;
}

export interface WakeListenerOptions {
  readonly signOfLifeMs?: number;
  readonly answerMs?: number;
  /** Told why a connection was given up. It is replaced in any case. */
  readonly onLost?: (reason: unknown) => void;
}

const longestSleepMs = 2 ** 31 - 1;
const everybody = '*';
const probe = '?';

/** Who waits for what, and what came while nobody waited. */
function waitingRoom() {
  const events = new EventEmitter().setMaxListeners(0);
  const missed = new Map<string, number>();
  let wakes = 0;
  return {
    wake(machine: string): void {
      wakes += 1;
      missed.set(machine, wakes);
      events.emit(machine === everybody ? everybody : `machine ${machine}`);
    },
    onWake(machine: string, tell: () => void): () => void {
      events.on(`machine ${machine}`, tell).on(everybody, tell);
      return () => events.off(`machine ${machine}`, tell).off(everybody, tell);
    },
    wait(machine: string, timeoutMs: number, signal: AbortSignal, since: number): Promise<number> {
      if (!(timeoutMs >= 0)) throw new RangeError(`cannot wait for ${timeoutMs} ms`);
      const latest = () => Math.max(missed.get(machine) ?? 0, missed.get(everybody) ?? 0);
      if (latest() > since || signal.aborted) return Promise.resolve(wakes);
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          events.off(`machine ${machine}`, end).off(everybody, end);
          resolve(wakes);
        };
        const timer = setTimeout(end, Math.min(timeoutMs, longestSleepMs));
        signal.addEventListener('abort', end);
        events.on(`machine ${machine}`, end).on(everybody, end);
      });
    },
  };
}

async function connect(
  url: string,
  onPayload: (payload: string) => void,
  answerMs: number,
): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'fencepost wake-ups',
    connectionTimeoutMillis: answerMs,
    keepAlive: true,
  });
  // Without a listener the error of a lost connection would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const heard = new Promise<void>((resolve) => {
      client.on('notification', ({ payload = '' }) => {
        if (payload === probe) resolve();
        else onPayload(payload);
      });
    });
    await within(client, answerMs, client.query(`listen ${wakeChannel}`));
    await within(client, answerMs, client.query(`select pg_notify('${wakeChannel}', '${probe}')`));
    // A notification to oneself comes with the answer that follows it, at the latest.
    await within(client, answerMs, client.query('select 1'));
    await Promise.race([
      heard,
      pause(answerMs, undefined, { ref: false }).then(() => {
        throw new Error('LISTEN is accepted and silent');
      }),
    ]);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** Hangs up; a connection that does not say goodbye in time is cut. */
async function hangUp(client: pg.Client): Promise<void> {
  const late = pause(1000, undefined, { ref: false }).then(() => cutConnection(client));
  await Promise.race([client.end().catch(() => undefined), late]);
}

/** Resolves when the signal says so. @throws when the connection ended or gives no sign of life. */
async function untilSilent(
  client: pg.Client,
  closing: AbortSignal,
  { signOfLifeMs, answerMs }: Required<Pick<WakeListenerOptions, 'signOfLifeMs' | 'answerMs'>>,
): Promise<void> {
  const ended = once(client, 'end').then(() => 'ended');
  while (!closing.aborted) {
    const rest = pause(signOfLifeMs, 'rest', { signal: closing, ref: false });
    const next = await Promise.race([ended, rest.catch(() => 'closing')]);
    if (next === 'ended') throw new Error('the connection ended');
    if (next === 'rest') await within(client, answerMs, client.query('select 1'));
  }
}

/** Opens a listener. Never throws for a lost database: it goes on trying, and waits end by time. */
export async function openWakeListener(
  database: Pick<Database, 'url' | 'behindPooler'>,
  options: WakeListenerOptions = {},
): Promise<WakeListener> {
  const { signOfLifeMs = 30_000, answerMs = 5_000, onLost = () => undefined } = options;
  const room = waitingRoom();
  const closing = new AbortController();
  const seen = new Map<string, number>();
  let client: pg.Client | undefined;

  /** Listens until the connection is lost or the listener is closed. */
  async function listenOnce(onSettled: () => void): Promise<void> {
    try {
      client = await connect(database.url, room.wake, answerMs);
      room.wake(everybody);
      onSettled();
      await untilSilent(client, closing.signal, { signOfLifeMs, answerMs });
    } catch (reason) {
      if (!closing.signal.aborted) onLost(reason);
    } finally {
      onSettled();
      const lost = client;
      client = undefined;
      if (lost) await hangUp(lost);
    }
  }

  async function keepListening(onSettled: () => void): Promise<void> {
    for (let losses = 0; !closing.signal.aborted; losses += 1) {
      if (losses > 0) {
        const wait = Math.min(10_000, 100 * 2 ** Math.min(losses, 10)) * (0.5 + Math.random() / 2);
        await pause(wait, undefined, { signal: closing.signal }).catch(() => undefined);
      }
      const since = performance.now();
      await listenOnce(onSettled);
      if (performance.now() - since > signOfLifeMs) losses = 0;
    }
  }

  let listening: Promise<void> | undefined;
  if (!database.behindPooler) {
    await new Promise<void>((settled) => {
      listening = keepListening(settled);
    });
  }
  return {
    get listening() {
      return client !== undefined;
    },
    async wait(machine, timeoutMs, signal) {
      seen.set(machine, await room.wait(machine, timeoutMs, signal, seen.get(machine) ?? 0));
    },
    onWake: room.onWake,
    async close() {
      closing.abort();
      await listening;
    },
  };
}
