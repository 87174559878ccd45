// One step of a plan: one transaction, in which its effect, its receipt and the run's transition
// are committed together or not at all. run.ts calls it for each step in turn.
//
//   begin · step.open (it is the lock) · savepoint · the tool · step.ok · its receipt ·
//   set constraints all immediate · commit
//
// - It waits for the database once before the tool, and once behind it.
// - If the tool fails: back to the savepoint, then step.failed with its receipt. If what is behind
//   it fails: begin and open again, then the same. A tool is never tried again: it is not known to
//   bear that.
// - Before the tool was called nothing has happened: then the step may be begun again (`away`).
// - The answer to COMMIT may be lost. Then the run's row is locked on another connection, which
//   waits for the commit in doubt, and the receipt is read: only then is "none" an answer.
//   Source: PostgreSQL manual, SAVEPOINT; SET CONSTRAINTS; 13.3.2 Row-Level Locks.

import { setTimeout as pause } from 'node:timers/promises';
import { proposal } from '../../machines/proposal.ts';
import { CommitInDoubtError } from '../../persistence/connection.ts';
import type { Database } from '../../persistence/database.ts';
import { send } from '../../persistence/door.ts';
import type { Limits } from '../../persistence/limits.ts';
import {
  backToMark,
  insertReceipt,
  lockProposal,
  type Receipt,
  readReceipts,
  type StoredStep,
} from '../../persistence/proposals.ts';
import { closeStep, openStep } from '../../persistence/steps.ts';
import { storable } from '../../persistence/text.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { backoffMs } from '../backoff.ts';
import { describeError } from '../describe-error.ts';
import type { ToolRegistry } from './tools.ts';
import { callTool } from './use-tool.ts';

export interface StepOptions {
  readonly database: Database;
  readonly tools: ToolRegistry;
  /** Of the step's transaction. */
  readonly limits: Limits;
  readonly toolMs: number;
  readonly leaseMs: number;
}

/** A run that this process has claimed. */
export interface RunInHand {
  readonly id: string;
  readonly fence: number;
  readonly steps: readonly StoredStep[];
  readonly proposer: string;
  readonly approvedBy: string | null;
  readonly requestedBy: string;
  /** What steps put out, by their place, as JSON text. */
  readonly outputs: Map<number, string | null>;
  /** Until when the lease surely runs, by this process's monotonic clock. */
  leaseEndsAt: number;
}

export type StepEnd =
  | { readonly end: 'ok'; readonly output: string | null }
  | { readonly end: 'failed'; readonly error: string }
  /** Somebody else has the run, or it has come to its end: nothing was done. */
  | { readonly end: 'lost' }
  /** The database did not answer, and the step was not begun, or its end is not written. */
  | { readonly end: 'away'; readonly begun: boolean; readonly error: unknown };

interface Place {
  readonly options: StepOptions;
  readonly run: RunInHand;
  readonly index: number;
}

interface Attempt {
  /** The tool may have been called. */
  begun: boolean;
  /** COMMIT is under way: there is nothing to go back to. */
  committing: boolean;
  /** Why the step failed, once that is known. */
  reason: string | undefined;
}

const longestReason = 2000;
const longestBackoffMs = 2000;

async function open(tx: Tx, { run, index }: Place): Promise<boolean> {
  const { id, fence } = run;
  const opened = await openStep(tx, { id, fence, step: index });
  if (opened.outcome === 'invalid') throw new Error(`step.open: ${opened.detail}`);
  return opened.outcome === 'applied';
}

async function closeFailed(tx: Tx, { run, index }: Place, reason: string): Promise<void> {
  const { id, fence, steps } = run;
  const told = storable(`step ${index}, ${steps[index]?.tool}: ${reason}`, longestReason);
  const closed = await send(tx, proposal, 'step.failed', { id, fence, step: index, reason: told });
  if (closed.outcome !== 'applied') throw new Error(`step.failed is ${closed.outcome}`);
  const error = storable(reason, longestReason);
  const receipt = { outcome: 'failed', output: null, error } as const;
  await insertReceipt(tx, { proposal: id, index, fence, ...receipt });
}

/** The tool, then the end of the step, its receipt and the commit. */
async function carryOut(
  tx: Tx,
  { options, run, index }: Place,
  attempt: Attempt,
): Promise<string | null> {
  const { id, fence, steps, outputs } = run;
  const step = steps[index];
  if (!step) throw new Error(`there is no step ${index}`);
  const { proposer, approvedBy, requestedBy } = run;
  const output = await callTool(tx, {
    tools: options.tools,
    step,
    toolMs: options.toolMs,
    context: {
      ...{ proposal: id, step: index, proposer, approvedBy, requestedBy },
      outputOf(place) {
        const text = place < index ? outputs.get(place) : undefined;
        return text == null ? undefined : JSON.parse(text);
      },
    },
  });
  attempt.committing = true;
  await closeStep(tx, { id, fence, step: index, leaseMs: options.leaseMs, output });
  return output;
}

async function stepIn(tx: Tx, place: Place, attempt: Attempt): Promise<StepEnd> {
  if (!(await open(tx, place))) return { end: 'lost' };
  attempt.begun = true;
  try {
    return { end: 'ok', output: await carryOut(tx, place, attempt) };
  } catch (error) {
    const reason = describeError(error);
    attempt.reason = reason;
    if (attempt.committing) throw error;
    await backToMark(tx);
    await closeFailed(tx, place, reason);
    return { end: 'failed', error: reason };
  }
}

const endOf = (receipt: Receipt): StepEnd =>
  receipt.outcome === 'ok'
    ? { end: 'ok', output: receipt.output }
    : { end: 'failed', error: receipt.error ?? '' };

/** Tries until the lease may be over: then somebody else says how the run ended. */
async function insist<T>(
  { run }: Place,
  work: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  for (let failures = 1; ; failures += 1) {
    try {
      return { value: await work() };
    } catch (error) {
      const restMs = backoffMs(failures, longestBackoffMs);
      if (performance.now() + restMs >= run.leaseEndsAt) return { error };
      await pause(restMs);
    }
  }
}

/** What became of a commit in doubt: the step's receipt, if it took effect. */
async function settled({ options, run, index }: Place): Promise<Receipt | undefined> {
  const { database, limits } = options;
  return await transaction(
    database,
    async (tx) => {
      await lockProposal(tx, run.id);
      const receipts = await readReceipts(tx, run.id);
      return receipts.find((receipt) => receipt.index === index && receipt.fence === run.fence);
    },
    { limits },
  );
}

/** Records the failure in a transaction of its own: that of the step is not there any more. */
async function recordFailure(place: Place, reason: string): Promise<StepEnd> {
  const { database, limits } = place.options;
  const recorded = await insist(place, async (): Promise<StepEnd> => {
    try {
      return await transaction(
        database,
        async (tx) => {
          if (!(await open(tx, place))) return { end: 'lost' };
          await closeFailed(tx, place, reason);
          return { end: 'failed', error: reason };
        },
        { limits },
      );
    } catch (error) {
      if (!(error instanceof CommitInDoubtError)) throw error;
      const receipt = await settled(place);
      if (!receipt) throw error;
      return endOf(receipt);
    }
  });
  return 'value' in recorded ? recorded.value : { end: 'away', begun: true, error: recorded.error };
}

/** Carries out one step. It never throws for what the tool or the database did. */
export async function runStep(
  options: StepOptions,
  run: RunInHand,
  index: number,
): Promise<StepEnd> {
  const { database, limits } = options;
  const place = { options, run, index };
  const attempt: Attempt = { begun: false, committing: false, reason: undefined };
  try {
    const once = { attempts: 1, limits };
    return await transaction(database, (tx) => stepIn(tx, place, attempt), once);
  } catch (error) {
    if (error instanceof CommitInDoubtError) {
      const found = await insist(place, () => settled(place));
      if ('error' in found) return { end: 'away', begun: true, error: found.error };
      if (found.value) return endOf(found.value);
    }
    if (!attempt.begun) return { end: 'away', begun: false, error };
    return await recordFailure(place, attempt.reason ?? describeError(error));
  }
}
