// Memory and SQL agree on random runs and random events: outcome, status and every column.

import fc from 'fast-check';
import { sendAndJudge } from './edges.ts';
import { caseOf, randomPairs } from './random-runs.ts';
import { clockOf, type Subject } from './staging.ts';

export interface PropertyOptions {
  readonly seed: number;
  /** Batches of up to 200 pairs. */
  readonly batches: number;
  /** Look for the smallest counterexample, which takes many batches more. */
  readonly shrink: boolean;
}

export interface PropertyReport {
  readonly findings: readonly string[];
  readonly pairs: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

const batch = 200;

/** A seed for a property test: from the environment variable SEED, or another one each time. */
export function seedOfRun(suite: string): number {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  process.stdout.write(`${suite}: SEED=${seed}\n`);
  return seed;
}

export async function properties(
  subject: Subject,
  { seed, batches, shrink }: PropertyOptions,
): Promise<PropertyReport> {
  const outcomes: Record<string, number> = {};
  let pairs = 0;
  const agree = fc.asyncProperty(randomPairs(subject.entry, batch), async (random) => {
    const clock = await clockOf(subject.observer);
    const judged = await sendAndJudge(
      subject,
      random.map((pair) => caseOf(subject.entry, pair, clock)),
    );
    for (const { sent } of judged) {
      pairs += 1;
      outcomes[sent.outcome.outcome] = (outcomes[sent.outcome.outcome] ?? 0) + 1;
    }
    const findings = judged.flatMap((each) => each.findings);
    if (findings.length > 0) throw new Error(findings.slice(0, 3).join('\n'));
  });
  const run = await fc.check(agree, { seed, numRuns: batches, endOnFailure: !shrink });
  const { errorInstance } = run;
  const said = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return { findings: run.failed ? [`SEED=${seed}: ${said}`] : [], pairs, outcomes };
}
