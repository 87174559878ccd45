// A clock that stands still until it is told to go on, and what was promised meanwhile.

import type { Clock } from '../environment.ts';

/** How often promises are let run; a request passes through fewer steps. */
const turns = 30;

/** Lets everything happen that waits for no timer. */
export async function settle(): Promise<void> {
  for (let i = 0; i < turns; i += 1) await Promise.resolve();
}

interface Armed {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export interface ManualClock extends Clock {
  /** Lets time pass: timers run in their order, and promises after each. */
  advance(ms: number): Promise<void>;
  /** Moves the hands, as a user does. No timer notices. */
  jump(ms: number): void;
  /** How much time has passed, whatever the hands say. */
  elapsed(): number;
  /** Timers that are armed. */
  armed(): number;
}

export function manualClock(start = 1_700_000_000_000): ManualClock {
  let at = 0;
  let offset = start;
  let order = 0;
  const timers = new Map<number, Armed>();
  const nextBefore = (end: number): readonly [number, Armed] | undefined => {
    let found: readonly [number, Armed] | undefined;
    for (const [id, timer] of timers) {
      if (timer.at > end) continue;
      const isSooner =
        !found ||
        timer.at < found[1].at ||
        (timer.at === found[1].at && timer.order < found[1].order);
      if (isSooner) found = [id, timer];
    }
    return found;
  };
  return {
    now: () => offset + at,
    setTimeout(run, ms) {
      order += 1;
      timers.set(order, { at: at + Math.max(0, ms), order, run });
      return order;
    },
    clearTimeout(timer) {
      timers.delete(timer as number);
    },
    async advance(ms) {
      const end = at + ms;
      await settle();
      for (let next = nextBefore(end); next; next = nextBefore(end)) {
        timers.delete(next[0]);
        at = Math.max(at, next[1].at);
        next[1].run();
        await settle();
      }
      at = end;
    },
    jump(ms) {
      offset += ms;
    },
    elapsed: () => at,
    armed: () => timers.size,
  };
}
