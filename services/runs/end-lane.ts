// The lane on which a machine's ends and renewals go to the database, one write after the other.
//
// - While a write is under way the next ends gather; when the lane is idle nothing waits for
//   others.
// - An end is tried until the database has it: the effect is out, and nobody else knows. Only
//   `giveUp` stops that; the run then lapses.
// - A run that somebody locks, or that breaks a constraint at COMMIT, is found by halves and
//   written beside the lane, so that the others do not wait for it.

import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Machine } from '../../machines/status-machine.ts';
import { blamesRow, isLockTimeout } from '../../persistence/sqlstate.ts';
import { backoffMs } from '../backoff.ts';
import type { endWriter } from './ends.ts';
import type { Observe } from './events.ts';
import { type Hold, namesOf } from './hold.ts';

export interface EndLaneOptions<M extends Machine> {
  readonly machine: string;
  readonly writer: ReturnType<typeof endWriter<M>>;
  readonly log: Logger;
  readonly observe: Observe;
  readonly longestWaitMs: number;
  readonly renew: () => Promise<void>;
  /** The end is answered, or was given up. */
  readonly onOver: (hold: Hold<M>) => void;
  readonly onWritten: () => void;
}

const longestBackoffMs = 5000;
const mostRows = 1000;
/** A run that the database blames at COMMIT is tried so often, in case that something was mended.
 * */
const mostBlamed = 3;

export function endLane<M extends Machine>(options: EndLaneOptions<M>) {
  const { machine, writer, log, observe, renew, onOver, onWritten } = options;
  const longestWaitMs = Math.min(longestBackoffMs, options.longestWaitMs);
  const givingUp = new AbortController();
  const waiting = new Set<() => void>();
  const about = { machine, by: 'writer' };
  const gathered: Hold<M>[] = [];
  const alone: Hold<M>[] = [];
  let aside = Promise.resolve();
  let isAlone = false;
  let open = 0;
  let renewalDue = false;
  let isBusy = false;

  const rest = (failures: number): number => Math.round(backoffMs(failures, longestWaitMs));
  const pauseFor = (ms: number) =>
    pause(ms, undefined, { signal: givingUp.signal }).catch(() => undefined);

  function over(hold: Hold<M>): void {
    open -= 1;
    onOver(hold);
  }

  function wake(): void {
    onWritten();
    if (open > 0 || isBusy) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function drop(group: readonly Hold<M>[], error: unknown): void {
    log.error(
      { err: error, count: group.length, runs: namesOf(group) },
      'ends were given up, the runs lapse',
    );
    for (const hold of group) {
      observe({ type: 'dropped', machine, by: hold.work.name, run: hold.id });
      over(hold);
    }
  }

  async function writeGroup(group: readonly Hold<M>[]): Promise<void> {
    const replaced = await writer.writeEnds(group);
    for (const hold of group) if (!replaced.includes(hold)) over(hold);
    gathered.push(...replaced);
  }

  /** Tries each end that stands alone once. @returns those that must be tried again. */
  async function writeEachAlone(holds: readonly Hold<M>[], round: number) {
    const again: Hold<M>[] = [];
    for (const hold of holds) {
      hold.again = true;
      try {
        await writeGroup([hold]);
      } catch (error) {
        const isHopeless = blamesRow(error) && round > mostBlamed;
        log.warn({ err: error, run: hold.id, round }, 'an end waits beside the others');
        if (blamesRow(error) && hold.end) hold.end = { ...hold.end, beside: undefined };
        if (isHopeless || givingUp.signal.aborted) drop([hold], error);
        else again.push(hold);
      }
    }
    return again;
  }

  /** One connection for all of them, however many somebody locks. */
  async function runAlone(): Promise<void> {
    for (let round = 1; alone.length > 0; round += 1) {
      alone.push(...(await writeEachAlone(alone.splice(0), round)));
      if (alone.length > 0) await pauseFor(rest(round));
      start();
      wake();
    }
    isAlone = false;
  }

  /** One of them is locked by somebody, or to blame: it will stand alone, the others are written.
   * */
  async function writeAside(group: readonly Hold<M>[]): Promise<void> {
    if (group.length === 1) {
      alone.push(...group);
      return;
    }
    const middle = Math.ceil(group.length / 2);
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      await writeGroup(half).catch(() => writeAside(half));
    }
  }

  function setAside(group: readonly Hold<M>[]): void {
    const last = aside;
    aside = last.then(async () => {
      await writeAside(group);
      start();
      wake();
      if (isAlone) return;
      isAlone = true;
      void runAlone();
    });
  }

  async function writeGathered(): Promise<void> {
    const groups = new Map<string, Hold<M>[]>();
    for (const hold of gathered.splice(0, mostRows)) {
      const event = hold.end?.event ?? '';
      const group = groups.get(event);
      if (group) group.push(hold);
      else groups.set(event, [hold]);
    }
    const failures: unknown[] = [];
    // One transaction an event: several calls in one would lock runs out of id order.
    for (const group of groups.values()) {
      try {
        await writeGroup(group);
      } catch (error) {
        if (isLockTimeout(error) || blamesRow(error)) {
          setAside(group);
          continue;
        }
        failures.push(error);
        for (const hold of group) hold.again = true;
        if (givingUp.signal.aborted) drop(group, error);
        else gathered.unshift(...group);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** One write. @throws what kept the database from taking it. */
  async function oneWrite(): Promise<void> {
    const renewing = renewalDue && !givingUp.signal.aborted;
    renewalDue = false;
    try {
      if (renewing) await renew();
    } catch (error) {
      renewalDue = true;
      throw error;
    } finally {
      if (gathered.length > 0) await writeGathered();
    }
  }

  async function run(): Promise<void> {
    // What ends in this turn of the event loop goes into one write.
    await turn();
    for (let failures = 0; renewalDue || gathered.length > 0; ) {
      try {
        await oneWrite();
        if (failures > 0) observe({ type: 'resumed', ...about });
        failures = 0;
      } catch (error) {
        failures += 1;
        const tryAgainMs = rest(failures);
        observe({ type: 'away', ...about, failures });
        log.warn({ err: error, tryAgainMs, ends: gathered.length }, 'not everything was written');
        await pauseFor(tryAgainMs);
      }
      onWritten();
    }
    isBusy = false;
    wake();
  }

  function start(): void {
    if (isBusy || (!renewalDue && gathered.length === 0)) return;
    isBusy = true;
    void run();
  }

  return {
    write(hold: Hold<M>): void {
      open += 1;
      gathered.push(hold);
      start();
    },
    renewSoon(): void {
      renewalDue = true;
      start();
    },
    giveUp: (): void => givingUp.abort(),
    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      if (open === 0 && !isBusy) return;
      await new Promise<void>((resolve) => waiting.add(resolve));
    },
  };
}
