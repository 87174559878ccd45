// A claimed plan from its first step to its end, one step after the other. executor.ts starts one
// for each run that it claimed.
//
// - Each step's commit renews the lease; there is no heartbeat beside it, which would wait for the
//   step's row lock. No step is begun with less of the lease left than its transaction may take.
// - The plan is what was approved: its stored steps are hashed once more before the first of them.
// - It is interrupted between two steps, never within one.

import { setTimeout as pause } from 'node:timers/promises';
import { proposal } from '../../machines/proposal.ts';
import { send } from '../../persistence/door.ts';
import { transaction } from '../../persistence/transaction.ts';
import { backoffMs } from '../backoff.ts';
import { planHash } from './plan.ts';
import { type RunInHand, runStep, type StepEnd, type StepOptions } from './step.ts';

export interface ClaimedRun extends RunInHand {
  readonly planHash: string;
  readonly stepCount: number;
  readonly nextStep: number;
}

/**
 * `dropped`: the database could not be reached while the lease ran. Whoever reads the run next, or
 * the reaper, says that it was interrupted.
 */
export type RunEnd = 'executed' | 'failed' | 'interrupted' | 'lost' | 'dropped';

export interface RunControl {
  /** Asked between two steps: why the run must not go on, or undefined. */
  readonly interrupted: () => string | undefined;
  readonly onStep: (index: number, end: StepEnd) => void;
}

const longestBackoffMs = 2000;

async function interrupt(
  { database, limits }: StepOptions,
  { id, fence }: ClaimedRun,
  reason: string,
): Promise<RunEnd> {
  try {
    const outcome = await transaction(
      database,
      (tx) => send(tx, proposal, 'interrupt', { id, fence, reason }),
      { limits },
    );
    return outcome.outcome === 'applied' ? 'interrupted' : 'lost';
  } catch {
    // The lease lapses, which says the same.
    return 'dropped';
  }
}

/** Runs the steps until the plan's end. It never throws for what tools or the database did. */
export async function runPlan(
  options: StepOptions,
  run: ClaimedRun,
  { interrupted, onStep }: RunControl,
): Promise<RunEnd> {
  const isWhole = run.steps.length === run.stepCount && planHash(run.steps) === run.planHash;
  if (!isWhole) return await interrupt(options, run, 'plan_hash_mismatch');
  let failures = 0;
  for (let index = run.nextStep; index < run.stepCount; ) {
    const reason = interrupted();
    if (reason !== undefined) return await interrupt(options, run, reason);
    const since = performance.now();
    if (since + options.limits.transactionMs > run.leaseEndsAt) {
      return await interrupt(options, run, 'the database could not be reached in time');
    }
    const end = await runStep(options, run, index);
    onStep(index, end);
    switch (end.end) {
      case 'ok':
        run.leaseEndsAt = since + options.leaseMs;
        run.outputs.set(index, end.output);
        failures = 0;
        index += 1;
        break;
      case 'failed':
        return 'failed';
      case 'lost':
        return 'lost';
      case 'away':
        if (end.begun) return 'dropped';
        failures += 1;
        await pause(backoffMs(failures, longestBackoffMs));
        break;
      default:
        return end satisfies never;
    }
  }
  return 'executed';
}
