// Walks the points of a scenario: first once undisturbed, which counts the messages, then a try for
// each point, some at a time.
//
// - What is promised at every point is judged by the scenario; here only what was tried is counted.
// - Two processes interleave, so message n is not always the same one. Each is near it.

import { bundleChild } from './bundle.ts';
import type { Passing } from './message-proxy.ts';
import { disturbances, type Point, type Tried, type Trying, tryPoint } from './try-point.ts';

export interface Swept {
  readonly machine: string;
  readonly story: string;
  /** Messages of the scenario when nothing disturbs it. */
  readonly messages: number;
  readonly tried: readonly Tried[];
}

export interface SweepOptions extends Trying {
  /** So many are tried at once. */
  readonly lanes: number;
  /** Which points are tried: all, unless it is given. `passed` is what passed undisturbed. */
  readonly choose?: (points: readonly Point[], passed: readonly Passing[]) => readonly Point[];
  /** Nothing more is begun once something was found. */
  readonly untilFound?: boolean;
  readonly onTried?: (tried: Tried, done: number, all: number) => void;
}

/** So many of them, evenly spread, the first and the last included. */
export function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (count >= items.length) return items;
  const step = (items.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, i) => items[Math.round(i * step)]).flatMap((each) =>
    each === undefined ? [] : [each],
  );
}

/**
 * Each kind of commit, once where the process is killed before it hears of it, and once where the
 * server never hears of it. Where statements commit by themselves: each kind of answer, lost.
 */
export const atCommits: NonNullable<SweepOptions['choose']> = (_, passed) => {
  const steps = [...new Set(passed.map(({ step }) => step))];
  const commits = steps.filter((step) => step.startsWith('commit'));
  if (commits.length > 0) {
    return (['server', 'client'] as const).flatMap((from) =>
      commits.map((step) => ({ n: 1, disturbance: 'before' as const, step, from })),
    );
  }
  return steps.map((step) => ({ n: 1, disturbance: 'answer', step }));
};

async function walkAll(options: SweepOptions, program: string): Promise<readonly Tried[]> {
  const { lanes, choose = (points) => points, untilFound = false, onTried } = options;
  const prepared = { ...options, program };
  const undisturbed = await tryPoint(prepared, undefined);
  const tried: Tried[] = [undisturbed];
  const all = undisturbed.passed.flatMap(({ from }, i) =>
    disturbances
      // What the server never hears of it does not answer.
      .filter((disturbance) => disturbance !== 'answer' || from === 'server')
      .map((disturbance): Point => ({ n: i + 1, disturbance })),
  );
  const points = [...choose(all, undisturbed.passed)];
  const count = points.length;
  const isOver = () => untilFound && tried.some(({ findings }) => findings.length > 0);
  async function walk(): Promise<void> {
    for (let point = points.shift(); point && !isOver(); point = points.shift()) {
      const result = await tryPoint(prepared, point);
      tried.push(result);
      onTried?.(result, tried.length - 1, count);
    }
  }
  await Promise.all(Array.from({ length: lanes }, walk));
  return tried;
}

/** Sweeps a scenario. The undisturbed run is the first of what was tried. */
export async function sweepScenario(options: SweepOptions): Promise<Swept> {
  const { machine, story, child } = options.scenario;
  const program = await bundleChild(child);
  try {
    const tried = await walkAll(options, program.file);
    return { machine, story, messages: tried[0]?.passed.length ?? 0, tried };
  } finally {
    await program.remove();
  }
}
