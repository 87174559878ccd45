// The executor: claims approved plans that somebody asks to have executed, and runs them in this
// process. server.ts opens one; any number of processes may have one.
//
// - Whoever asks is answered at once: the claim is committed, the steps run behind the answer. Of
//   any number that ask, in any number of processes, one starts the run and the others are told
//   how far it is; on a plan that has ended they are told its receipts.
// - Nothing is claimed for which there is no room: a plan that waits is better approved than
//   leased.
// - A stop lets runs go on to their end within the grace, then interrupts them between two steps.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { isLeased } from '../../machines/arrows.ts';
import { proposal } from '../../machines/proposal.ts';
import { claim, heal } from '../../persistence/claims.ts';
import { CommitInDoubtError } from '../../persistence/connection.ts';
import { checkLimits, LimitsError } from '../../persistence/limits.ts';
import {
  lockProposal,
  readProposal,
  readReceipts,
  readSteps,
} from '../../persistence/proposals.ts';
import { transaction } from '../../persistence/transaction.ts';
import { type Refusal, refusal } from './decide.ts';
import { type ClaimedRun, type RunEnd, runPlan } from './run.ts';
import { receiptsOf, type ShownReceipt } from './show.ts';
import type { StepEnd, StepOptions } from './step.ts';

/** What happens in the runs of this process: for logs, metrics and tests. */
export type ExecutorEvent =
  | { readonly type: 'started'; readonly proposal: string }
  | {
      readonly type: 'step';
      readonly proposal: string;
      readonly step: number;
      readonly end: string;
    }
  | { readonly type: 'ended'; readonly proposal: string; readonly end: RunEnd };

export interface ExecutorOptions extends StepOptions {
  /** Plans that are run at once, at most. */
  readonly concurrency: number;
  readonly log: Logger;
  readonly observe?: (event: ExecutorEvent) => void;
}

export interface Progress {
  /** `finished`: it has ended, and these are its receipts. */
  readonly outcome: 'started' | 'executing' | 'finished';
  readonly id: string;
  readonly status: string;
  readonly steps: number;
  readonly nextStep: number;
  readonly reason: string | null;
  readonly receipts: readonly ShownReceipt[];
}

export type ExecuteOutcome =
  | Progress
  | { readonly outcome: 'missing'; readonly id: string }
  | Refusal
  /** There is no room in this process, or it is stopping: ask again, or ask another one. */
  | { readonly outcome: 'busy' | 'stopping'; readonly id: string };

export interface Executor {
  /** The owner that its claims name. */
  readonly owner: string;
  /**
   * Starts an approved plan, or says what has become of it. `requestedBy` is kept with the run.
   * @throws the driver's error where the database cannot be asked.
   */
  execute(id: string, requestedBy: string): Promise<ExecuteOutcome>;
  /** Starts nothing more, and resolves when no run is in this process's hands. */
  stop(graceMs: number): Promise<void>;
  /** Tells of each step and each end of a run in this process. Returns what stops it. */
  watch(listener: (proposal: string) => void): () => void;
  /** Ends the grace of a stop, whether it has begun or not. */
  hurry(): void;
}

const longestTimerMs = 2 ** 31 - 1;
const looks = 5;

/** @throws LimitsError unless tool < statement < idle < transaction < lease. */
export function checkStepTimes({
  toolMs,
  limits,
  leaseMs,
}: Omit<StepOptions, 'database' | 'tools'>) {
  checkLimits(limits, leaseMs);
  if (Number.isSafeInteger(toolMs) && toolMs > 0 && toolMs < limits.statementMs) return;
  throw new LimitsError(
    `a tool's deadline of ${toolMs} ms must be shorter than a statement's, ${limits.statementMs} ms`,
  );
}

/** Opens an executor. @throws LimitsError for times that do not go together. */
export function openExecutor(options: ExecutorOptions): Executor {
  checkStepTimes(options);
  const { database, leaseMs, limits, concurrency, log } = options;
  const listeners = new Set<(proposal: string) => void>();
  function observe(event: ExecutorEvent): void {
    options.observe?.(event);
    for (const listener of listeners) listener(event.proposal);
  }
  // A name that is new at each start: identity is never taken for a sign of life.
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  /** Each run in this process's hands, with the promise of its claim. */
  const hands = new Map<string, Promise<ClaimedRun | undefined>>();
  const runs = new Set<Promise<unknown>>();
  let stopping = false;
  let interruption: string | undefined;

  /** The owner's name is this process's alone: whether it is there says what became of a claim. */
  async function claimInDoubt(id: string) {
    return await transaction(
      database,
      async (tx) => {
        const row = await lockProposal(tx, id);
        return row?.lease_owner === owner ? { row, steps: await readSteps(tx, id) } : undefined;
      },
      { limits },
    );
  }

  async function claimOne(id: string, requestedBy: string): Promise<ClaimedRun | undefined> {
    const since = performance.now();
    const fields = { owner, lease_ms: leaseMs, executed_by: requestedBy };
    const claimed = await transaction(
      database,
      async (tx) => {
        const [row] = await claim(tx, proposal, 'execute', { limit: 1, where: { id }, ...fields });
        return row && { row, steps: await readSteps(tx, id) };
      },
      { limits },
    ).catch((error: unknown) => {
      if (error instanceof CommitInDoubtError) return claimInDoubt(id);
      throw error;
    });
    if (!claimed) return undefined;
    const { row, steps } = claimed;
    return {
      id,
      fence: row.fence,
      steps,
      stepCount: row.steps,
      planHash: row.plan_hash,
      nextStep: row.next_step,
      proposer: row.proposer,
      approvedBy: row.approved_by,
      requestedBy,
      outputs: new Map(),
      leaseEndsAt: since + leaseMs,
    };
  }

  function tellStep(id: string, step: number, end: StepEnd): void {
    const about = { proposal: id, step };
    if (end.end === 'ok') log.debug(about, 'proposal: a step is committed');
    else if (end.end === 'failed')
      log.info({ ...about, error: end.error }, 'proposal: step failed');
    else log.warn({ ...about, ...('error' in end && { err: end.error }) }, `proposal: ${end.end}`);
    observe({ type: 'step', ...about, end: end.end });
  }

  async function carryOut(run: ClaimedRun): Promise<void> {
    const { id } = run;
    observe({ type: 'started', proposal: id });
    let end: RunEnd = 'dropped';
    try {
      end = await runPlan(options, run, {
        interrupted: () => interruption,
        onStep: (step, how) => tellStep(id, step, how),
      });
    } catch (error) {
      log.error({ err: error, proposal: id }, 'proposal: a mistake of ours, its lease will lapse');
    } finally {
      hands.delete(id);
    }
    log.info({ proposal: id, end }, 'proposal: ended here');
    observe({ type: 'ended', proposal: id, end });
  }

  /** Claims the plan and starts to run it. Of those that ask at once, one does it for all. */
  function start(id: string, requestedBy: string): Promise<ClaimedRun | undefined> {
    const claiming = (async () => {
      const run = await claimOne(id, requestedBy);
      if (!run) return undefined;
      const running = carryOut(run).finally(() => runs.delete(running));
      runs.add(running);
      return run;
    })();
    hands.set(id, claiming);
    // What was not claimed is in nobody's hands.
    const letGo = (run?: ClaimedRun) => void (run ?? hands.delete(id));
    claiming.then(letGo, () => letGo());
    return claiming;
  }

  async function look(id: string) {
    return await transaction(database, async (tx) => {
      await heal(tx, proposal, id);
      const row = await readProposal(tx, id);
      return row && { row, receipts: await readReceipts(tx, id) };
    });
  }

  /** What has become of the plan; undefined while it waits to be executed. */
  async function told(id: string): Promise<ExecuteOutcome | undefined> {
    const seen = await look(id);
    if (!seen) return { outcome: 'missing', id };
    const { row } = seen;
    if (row.status === 'approved') return undefined;
    const executing = isLeased(proposal, row.status);
    if (!executing && row.executed_by === null) return refusal(row, ['wrong_status']);
    return {
      outcome: executing ? 'executing' : 'finished',
      id,
      status: row.status,
      steps: row.steps,
      nextStep: row.next_step,
      reason: row.reason,
      receipts: receiptsOf(row, seen.receipts),
    };
  }

  const begun = ({ id, stepCount: steps, nextStep }: ClaimedRun): Progress => ({
    outcome: 'started',
    id,
    status: 'executing',
    steps,
    nextStep,
    reason: null,
    receipts: [],
  });

  async function execute(id: string, requestedBy: string): Promise<ExecuteOutcome> {
    for (let turn = 0; turn < looks; turn += 1) {
      const theirs = hands.get(id);
      const hasRoom = !stopping && hands.size < concurrency;
      const mine = theirs || !hasRoom ? undefined : await start(id, requestedBy);
      if (mine) return begun(mine);
      await theirs?.catch(() => undefined);
      const seen = await told(id);
      if (seen) return seen;
      if (!theirs && !hasRoom) return { outcome: stopping ? 'stopping' : 'busy', id };
      // Somebody else's claim is under way: wait for it, then look again.
      await transaction(database, (tx) => lockProposal(tx, id));
    }
    return { outcome: 'busy', id };
  }

  function hurry(): void {
    stopping = true;
    interruption = 'the process that ran it was stopped';
  }

  return {
    owner,
    execute,
    hurry,
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop(graceMs) {
      stopping = true;
      const grace = setTimeout(hurry, Math.min(graceMs, longestTimerMs));
      while (hands.size > 0 || runs.size > 0)
        await Promise.allSettled([...hands.values(), ...runs]);
      clearTimeout(grace);
    },
  };
}
