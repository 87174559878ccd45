// Work that a process does in turns: one at the start, in the background, and then one after each
// pause, such as deleting what is over. Retention and thinning are such work.
//
// - One turn after the other, however they were asked for.
// - It never ends the process. What failed is tried again at the next turn.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

type Counts = Readonly<Record<string, number>>;

export interface TurnsOptions<C extends Counts> {
  /** A turn. It stops early when the signal is aborted, and says how much of what it did. */
  readonly work: (closing: AbortSignal) => Promise<C>;
  readonly everyMs: number;
  readonly log: Logger;
  /** What the log says of a turn that did something, and of one that failed. */
  readonly says: { readonly done: string; readonly failed: string };
}

export interface Turns<C extends Counts> {
  /** Takes a turn, and says how much of what it did. Stops early when it is closed. */
  runOnce(): Promise<C>;
  /** Resolves when no turn is under way, and none comes any more. */
  close(): Promise<void>;
}

export function startTurns<C extends Counts>(options: TurnsOptions<C>): Turns<C> {
  const { work, everyMs, log, says } = options;
  const closing = new AbortController();
  const { signal } = closing;
  let turn: Promise<unknown> = Promise.resolve();

  function runOnce(): Promise<C> {
    const mine = turn.then(() => work(signal));
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const counts: Counts = await runOnce();
        if (Object.values(counts).some((count) => count > 0)) log.info(counts, says.done);
      } catch (error) {
        log.error({ err: error, tryAgainMs: everyMs }, says.failed);
      }
      await pause(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    runOnce,
    async close() {
      closing.abort();
      await running;
      await turn;
    },
  };
}
