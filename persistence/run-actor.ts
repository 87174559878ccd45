// One run with the face of an XState actor, for code that already speaks it: `getSnapshot`, `send`,
// `subscribe`. The run itself lives in its row; the actor is a view of it, and may be thrown away.
//
// - `send` answers with an Outcome. A refused event is an answer here, not a silent nothing.
// - `subscribe` follows the journal: it reads again at a wake-up for this process's own sends, and
//   at every poll for everybody else's. Each journal entry is given to each subscriber once, in
//   order.
// - A snapshot's `can` asks the machine about the row as it was read; only `send` decides.

import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { inMemory } from '../machines/in-memory.ts';
import type { EventOf, Machine, Run } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import { type EventRow, send } from './door.ts';
import { type JournalEntry, readJournal } from './journal.ts';
import type { Outcome } from './outcome.ts';
import { identifier, qualified } from './print.ts';
import { transaction } from './transaction.ts';
import { isUuid } from './values.ts';

const longestTimerMs = 2 ** 31 - 1;

type SnapshotOf = ReturnType<ReturnType<typeof inMemory>['resolveState']>;

/** What an actor's observer is given: the run as it is, and what happened since the last time. */
export interface Observer {
  next(snapshot: SnapshotOf, entries: readonly JournalEntry[]): void;
  /** The database could not be read. The subscription goes on. */
  error?(error: unknown): void;
  /** The run has come to its end, or is gone. */
  complete?(): void;
}

export interface RunActor<M extends Machine> {
  readonly id: string;
  /** The run as it was last read. */
  getSnapshot(): SnapshotOf;
  /** Reads the run again. */
  refresh(): Promise<SnapshotOf>;
  send<N extends EventOf<M>>(
    event: { readonly type: N } & Omit<EventRow<M, N>, 'id'>,
  ): Promise<Outcome<M>>;
  subscribe(observer: Observer): { unsubscribe(): void };
}

/** There is no run of this id. */
export class UnknownRunError extends Error {
  override readonly name = 'UnknownRunError';
  readonly code = 'unknown_run';
}

/**
 * Calls an observer. What it throws is its own mistake and, as in XState, thrown where all see it.
 */
function tell(observe: () => void): void {
  try {
    observe();
  } catch (mistake) {
    setTimeout(() => {
      throw mistake;
    });
  }
}

async function readRun<M extends Machine>(
  database: Database,
  machine: M,
  id: string,
): Promise<Run<M> | undefined> {
  const columns = ['id', 'status', 'seq', ...Object.keys(machine.columns)].map(identifier);
  const { rows } = await sql<Run<M>>`
    select ${sql.raw(columns.join(', '))} from ${sql.raw(qualified(machine.table))}
    where id = ${id}::uuid`.execute(database.db);
  return rows[0];
}

/**
 * Opens an actor on a run. `pollMs` is at least 1.
 * @throws UnknownRunError when there is no such run.
 */
export async function runActor<M extends Machine>(
  database: Database,
  machine: M,
  id: string,
  { pollMs = 1000 }: { readonly pollMs?: number } = {},
): Promise<RunActor<M>> {
  if (!(pollMs >= 1)) throw new RangeError(`cannot poll every ${pollMs} ms`);
  const restMs = Math.min(pollMs, longestTimerMs);
  const logic = inMemory(machine);
  /** A status that this process does not know is shown, and offers no events. */
  const logicOf = (status: string) =>
    Object.hasOwn(machine.states, status)
      ? logic
      : inMemory({ ...machine, states: { ...machine.states, [status]: {} } });
  const resolve = ({ status, ...row }: Run<M>) =>
    logicOf(status).resolveState({ value: status, context: row });

  async function read(): Promise<SnapshotOf> {
    const run = await readRun(database, machine, id);
    if (!run) throw new UnknownRunError(`machine ${machine.id} has no run ${id}`);
    const latest = resolve(run);
    // Of two that read at once the one that saw the older row may come back last.
    if (Number(latest.context['seq']) >= Number(snapshot.context['seq'])) snapshot = latest;
    return snapshot;
  }

  const first = isUuid(id) ? await readRun(database, machine, id) : undefined;
  if (!first) throw new UnknownRunError(`machine ${machine.id} has no run ${id}`);
  let snapshot = resolve(first);
  const followers = new Set<AbortController>();
  let sends = 0;

  /** Pauses, unless something was sent since the count that is given. */
  async function pauseOrWake(since: number, stop: AbortSignal): Promise<void> {
    if (sends > since) return;
    const wake = new AbortController();
    const end = () => wake.abort();
    followers.add(wake);
    // Not `AbortSignal.any`: `stop` would keep something of each pause for as long as it lives.
    stop.addEventListener('abort', end);
    await pause(restMs, undefined, { signal: wake.signal, ref: false }).catch(() => undefined);
    stop.removeEventListener('abort', end);
    followers.delete(wake);
  }

  /** What there is beyond `after`, or why it cannot be said. */
  async function look(after: number) {
    try {
      const entries = await readJournal(database.db, machine, id, { after });
      return { entries, current: await read() };
    } catch (error) {
      return { error };
    }
  }

  /** Tells the observer of what the journal has beyond `after`, until the run ends. */
  async function follow(observer: Observer, stop: AbortSignal): Promise<void> {
    let after = Number(snapshot.context['seq']);
    for (;;) {
      const since = sends;
      const news = await look(after);
      if (stop.aborted) return;
      if ('error' in news) {
        if (news.error instanceof UnknownRunError) return tell(() => observer.complete?.());
        tell(() => observer.error?.(news.error));
      } else {
        const { entries, current } = news;
        after = entries.at(-1)?.seq ?? after;
        if (entries.length > 0) tell(() => observer.next(current, entries));
        const isOver = current.status === 'done' && Number(current.context['seq']) <= after;
        if (isOver) return tell(() => observer.complete?.());
      }
      await pauseOrWake(since, stop);
      if (stop.aborted) return;
    }
  }

  return {
    id,
    getSnapshot: () => snapshot,
    refresh: read,
    async send({ type, ...fields }) {
      const row = { ...fields, id } as unknown as EventRow<M, typeof type>;
      const outcome = await transaction(database, (tx) => send(tx, machine, type, row));
      // What happened is the answer, also if the run cannot be read again.
      if (outcome.outcome === 'applied') await read().catch(() => undefined);
      sends += 1;
      for (const wake of followers) wake.abort();
      return outcome;
    },
    subscribe(observer) {
      const stop = new AbortController();
      void follow(observer, stop.signal);
      return { unsubscribe: () => stop.abort() };
    },
  };
}
