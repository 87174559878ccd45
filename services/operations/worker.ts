// What a worker does with operations: takes one step after the other until the run has ended, and
// waits in between as long as the row says. services/runs runs it, twice: for what is queued, and
// for what another worker let lapse.
//
// - Whoever must stop lets go at once, in a drain too: nothing is lost, the successor goes on where
//   the row says. A call that is being made is waited for, because its answer is worth more.
// - Who finds that the run is not his any more says nothing.

import { setTimeout as pauseFor } from 'node:timers/promises';
import type { Logger } from 'pino';
import { dbops } from '../../machines/dbops.ts';
import type { EventsBy } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { describeError } from '../describe-error.ts';
import { type End, type RunContext, StopError, type Work } from '../runs/work.ts';
import { NotOursError, type Operation, takeInHand } from './hand.ts';
import { checkTimes, type OperationTimes, sliceOf } from './pace.ts';
import type { Provider } from './provider.ts';
import { type Step, stepsOf } from './steps.ts';

export interface OperationWorkOptions {
  readonly database: Database;
  readonly provider: Provider;
  readonly times: OperationTimes;
  readonly log: Logger;
  /** Waits, or less if the signal is aborted. Given by tests, which wait for nothing. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

type OperationEnd = End<typeof dbops>;
type Claim = EventsBy<typeof dbops, 'claim'>;

const afterThrowMs = 5000;
const usualPause = (ms: number, signal: AbortSignal) =>
  pauseFor(ms, undefined, { signal }).catch(() => undefined);

const msBetween = (from: number, to: number | null): number =>
  to === null || !Number.isFinite(from) ? 0 : Math.max(0, (to - from) / 1000);

/**
 * The two works of a provider's operations.
 * @throws OperationTimesError where the lease is too short for the provider.
 */
export function operationWorks(options: OperationWorkOptions): readonly Work<typeof dbops>[] {
  const { database, provider, times, log, pause = usualPause } = options;
  checkTimes(times, provider.timeoutMs);
  const { leaseMs, deadlineMs } = times;
  const slice = sliceOf(times);

  async function handle(run: Operation, context: RunContext): Promise<OperationEnd | undefined> {
    const { signal } = context;
    const hand = takeInHand(database, run, context);
    const steps = stepsOf(hand, { provider, times, signal });

    /** Rests until the next poll is due, and shows a sign of life now and then. */
    async function rest(ms: number): Promise<void> {
      for (let left = ms; left > 0 && !signal.aborted; left -= slice) {
        await pause(Math.min(left, slice), signal);
        if (left > slice && !signal.aborted) await hand.send('renew', { lease_ms: leaseMs });
      }
    }

    async function untilEnd(): Promise<OperationEnd | undefined> {
      // What the last owner was to wait for is waited for by this one.
      const claimedAt = (run.lease_expires_at ?? 0) - leaseMs * 1000;
      await rest(msBetween(claimedAt, run.next_poll_at));
      for (;;) {
        if (signal.reason instanceof StopError) {
          return { event: 'release', fields: { wait_ms: 0 } };
        }
        if (signal.aborted) return undefined;
        const step: Step = await steps.next();
        if ('end' in step) return step.end;
        await rest(msBetween(step.at, step.row.next_poll_at));
      }
    }

    try {
      return await untilEnd();
    } catch (error) {
      if (!(error instanceof NotOursError)) throw error;
      log.info({ operation: run.id }, 'operation: not ours any more');
      return undefined;
    }
  }

  const work = (claim: Claim): Work<typeof dbops> => ({
    name: `${claim} ${provider.name}`,
    machine: dbops,
    claim,
    where: { provider: provider.name },
    claimFields: ({ owner }) => ({ owner, lease_ms: leaseMs, deadline_ms: deadlineMs }),
    renew: (ms) => ({ event: 'renew', fields: { lease_ms: ms } }),
    release: { event: 'release', fields: { wait_ms: 0 } },
    letsGo: true,
    handle,
    onThrow: (error) => ({
      event: 'release',
      fields: { wait_ms: afterThrowMs, error: describeError(error) },
    }),
    onEnded({ id }, end, { after }) {
      const { status, outcome, error } = after;
      const about = { operation: id, status, outcome, error };
      if (end.event === 'release') log.debug(about, 'operation: let go of');
      else log.info(about, `operation: ${status}`);
    },
  });
  return [work('claim'), work('takeover')];
}
