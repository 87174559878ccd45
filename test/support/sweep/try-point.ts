// One try of a sweep: a new database, a child that works through the proxy, a disturbance at one
// message, the recovery, and what is then not as it was promised.

import { once } from 'node:events';
import { openDatabase } from '../../../persistence/database.ts';
import { spawnChild } from '../child.ts';
import type { TestDatabase } from '../database.ts';
import { type Fate, openMessageProxy, type Passing } from './message-proxy.ts';
import type { Scenario } from './scenario.ts';
import type { Side } from './wire.ts';

/**
 * The process is killed `before` the message passes or `after` it did; or it lives, and its
 * connection is gone instead of this `answer`: the server has done what it was told.
 */
export const disturbances = ['before', 'after', 'answer'] as const;
export type Disturbance = (typeof disturbances)[number];

export interface Point {
  /** The message, counted from 1. An `answer` is the first of the server's from there on. */
  readonly n: number;
  readonly disturbance: Disturbance;
  /** The first from there on that belongs to this step. */
  readonly step?: string;
  /** Of the messages of this side only: the server's, where a step or an answer is asked for. */
  readonly from?: Side;
}

export interface Tried {
  readonly point: Point | undefined;
  /** The message that was disturbed; undefined where the child was done before. */
  readonly hit: Passing | undefined;
  /** All messages, in order, up to the disturbance. */
  readonly passed: readonly Passing[];
  readonly findings: readonly string[];
}

export interface Trying {
  readonly scenario: Scenario;
  readonly mutant?: string | undefined;
  readonly clone: () => Promise<TestDatabase>;
}

/** The same with what was made once for all points. */
export interface Prepared extends Trying {
  /** The program to start, as one file. */
  readonly program: string;
}

const limitMs = 30_000;

async function within<T>(work: Promise<T>, what: string): Promise<T> {
  const settled = new AbortController();
  const limit = AbortSignal.any([AbortSignal.timeout(limitMs), settled.signal]);
  const late = once(limit, 'abort').then(() => {
    throw new Error(`${what} did not end within ${limitMs / 1000} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    settled.abort();
  }
}

/** Counts what passes while it is armed, and says when the point has come. */
function counter(point: Point | undefined) {
  const passed: Passing[] = [];
  let hit: Passing | undefined;
  let isArmed = false;
  return {
    passed,
    hit: () => hit,
    arm: (on: boolean) => {
      isArmed = on;
    },
    judge(passing: Passing): Fate {
      if (!isArmed || hit) return 'forward';
      passed.push(passing);
      if (!point || passed.length < point.n) return 'forward';
      const isServers = point.disturbance === 'answer' || point.step !== undefined;
      const from = point.from ?? (isServers ? 'server' : passing.from);
      if (passing.from !== from) return 'forward';
      if (point.step !== undefined && point.step !== passing.step) return 'forward';
      hit = passing;
      if (point.disturbance === 'answer') return 'cut';
      return point.disturbance === 'before' ? 'stop' : 'last';
    },
  };
}

/** Runs the child up to the point. @returns what is wrong with how it ended. */
async function disturb(
  trying: Prepared,
  url: string,
  args: readonly string[],
  count: ReturnType<typeof counter>,
): Promise<readonly string[]> {
  const { program, mutant } = trying;
  let kill: () => void = () => undefined;
  let killed = false;
  const proxy = await openMessageProxy(url, {
    judge: count.judge,
    onStopped() {
      killed = true;
      kill();
    },
  });
  const child = spawnChild(program, [proxy.url, ...args, ...(mutant ? [mutant] : [])]);
  kill = () => child.process.kill('SIGKILL');
  try {
    await within(child.line(), 'the start of the child');
    count.arm(true);
    child.process.stdin?.write('go\n');
    void child.line().then(
      () => count.arm(false),
      () => undefined,
    );
    const { code, output } = await within(child.exit, 'the child');
    if (killed || code === 0) return [];
    return [`the process ended by itself, with ${code}: ${output.slice(-500)}`];
  } catch (error) {
    return [String(error)];
  } finally {
    kill();
    await child.exit;
    await proxy.settled();
  }
}

/** Tries one point; without one, the whole scenario undisturbed. */
export async function tryPoint(trying: Prepared, point: Point | undefined): Promise<Tried> {
  const clone = await trying.clone();
  const database = await openDatabase({ url: clone.url, connections: 3 });
  const count = counter(point);
  const findings: string[] = [];
  try {
    const stage = await trying.scenario.prepare(database, trying.mutant);
    try {
      findings.push(...(await disturb(trying, clone.url, stage.args, count)));
      await within(stage.recover(), 'the recovery');
      findings.push(...(await stage.invariants()));
    } catch (error) {
      findings.push(String(error));
    } finally {
      await stage.close();
    }
  } finally {
    await database.close();
    await clone.drop();
  }
  return { point, hit: count.hit(), passed: count.passed, findings };
}
