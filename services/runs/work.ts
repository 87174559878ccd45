// What a worker is told about its work: the machine, what it claims, and what it does with a run.
// Each domain makes one for each kind of run that it handles; start.ts runs it.
//
// - A handler ends with one of the machine's owner events. The worker writes it under the fence. A
//   handler that sends events itself may find that the run is not its own any more; then it ends
//   with nothing.
// - A handler is never trusted to end: its signal is aborted at the time limit, its lease is
//   renewed no longer then, and what it says later is judged by the fence like everything else.

import { arrowsBy } from '../../machines/arrows.ts';
import type { EventsBy, FieldValues, Machine, Run } from '../../machines/status-machine.ts';
import type { ClaimOptions } from '../../persistence/claims.ts';
import type { Applied } from '../../persistence/outcome.ts';
import type { Tx } from '../../persistence/transaction.ts';

/** What is written in the transaction of an end, after it. Those of one key are written once. */
export interface Beside {
  /** Locks are taken in the order of the keys. */
  readonly key: string;
  readonly write: (tx: Tx) => Promise<unknown>;
}

type Fields<F> = Partial<F> extends F ? { readonly fields?: F } : { readonly fields: F };

/** How a claimed run ends here: an owner's event with its fields. */
export type End<M extends Machine> = {
  readonly [N in EventsBy<M, 'owner'>]: {
    readonly event: N;
    readonly beside?: Beside;
  } & Fields<FieldValues<M, N>>;
}[EventsBy<M, 'owner'>];

/** The same without the machine's names: what code for every machine reads. */
export interface AnyEnd {
  readonly event: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly beside?: Beside | undefined;
}

export interface RunContext {
  /**
   * Aborted at the time limit, when the lease is lost, and when the process must stop at once: then
   * its reason is a StopError.
   */
  readonly signal: AbortSignal;
  /** Milliseconds for which the lease surely runs, by this process's monotonic clock. */
  remainingMs(): number;
  /**
   * The handler itself sent an event that set the lease: lease and time limit begin again, at what
   * performance.now() said before it was sent.
   */
  extend(since: number): void;
}

/** The reason of a signal that is aborted because the process must stop at once. */
export class StopError extends Error {
  override readonly name = 'StopError';
  readonly code = 'must_stop';
}

export interface Lease {
  /** The host, the process and a part that is new at each start. */
  readonly owner: string;
  readonly leaseMs: number;
}

export interface Work<M extends Machine, C extends EventsBy<M, 'claim'> = EventsBy<M, 'claim'>> {
  /** For the log: what it works on. */
  readonly name: string;
  readonly machine: M;
  readonly claim: C;
  readonly where?: NonNullable<ClaimOptions<M, C>['where']>;
  readonly claimFields: (lease: Lease) => FieldValues<M, C>;
  /** A sign of life, where the machine has an event that is one: see `renewal` in arrows.ts. */
  readonly renew?: (leaseMs: number) => End<M>;
  /** Gives back a run that was claimed and not begun. Without it such a run lapses. */
  readonly release?: End<M>;
  /** What runs is aborted as soon as a drain begins, and has the grace to settle. */
  readonly letsGo?: boolean;
  /**
   * Does the work of one run. Settles soon after its signal was aborted. Undefined: the run is
   * somebody else's, and nothing is to be written.
   */
  readonly handle: (run: Run<M>, context: RunContext) => Promise<End<M> | undefined>;
  /** What a throw of `handle` means. */
  readonly onThrow: (error: unknown) => End<M>;
  /** An end that can be stored, for one that cannot. Undefined: it is taken for a throw. */
  readonly plainer?: (end: End<M>) => End<M> | undefined;
  /** Milliseconds for which nothing is to be claimed; 0 in most cases. Asked before each claim. */
  readonly notBefore?: () => Promise<number>;
  /** Told of each end that was written. */
  readonly onEnded?: (run: EndedRun, end: End<M>, outcome: Applied<M>) => void;
}

export interface EndedRun {
  readonly id: string;
  readonly fence: number;
}

export interface Pace {
  readonly leaseMs: number;
  /** How often leases are renewed. At most half of the lease. */
  readonly heartbeatMs: number;
  /**
   * The time limit of one run: nothing is begun with less than it left of the lease. At most the
   * lease without a heartbeat, or a run that waits for its turn could wait for ever.
   */
  readonly timeoutMs: number;
  /** How often is looked without a wake-up. */
  readonly pollMs: number;
  /** Runs that are handled at once, at most. */
  readonly concurrency: number;
  /** Runs that are claimed ahead, at most. Fewer while fewer end in a second. */
  readonly batch: number;
}

/** A worker that could not keep what it claims. Nothing was started. */
export class PaceError extends Error {
  override readonly name = 'PaceError';
  readonly code:
    | 'not_whole'
    | 'too_many'
    | 'heartbeat_too_long'
    | 'timeout_too_long'
    | 'no_renewal';

  constructor(code: PaceError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** What an int4 and a timer can hold. */
const longestMs = 2 ** 31 - 1;
export const mostBatch = 10_000;
const mostConcurrency = 10_000;

/** @throws PaceError unless heartbeat ≤ lease / 2, timeout ≤ lease - heartbeat, and all are whole.
 * */
export function checkPace(pace: Pace): void {
  const { leaseMs, heartbeatMs, timeoutMs, pollMs, concurrency, batch } = pace;
  const all = { leaseMs, heartbeatMs, timeoutMs, pollMs, concurrency, batch };
  for (const [name, value] of Object.entries(all)) {
    if (Number.isSafeInteger(value) && value > 0 && value <= longestMs) continue;
    throw new PaceError(
      'not_whole',
      `${name} is a whole number from 1 to ${longestMs}, not ${value}`,
    );
  }
  if (batch > mostBatch || concurrency > mostConcurrency) {
    throw new PaceError('too_many', `at most ${mostBatch} at once and ahead`);
  }
  if (heartbeatMs > leaseMs / 2) {
    const message = `a heartbeat of ${heartbeatMs} ms is more than half of the lease, ${leaseMs} ms`;
    throw new PaceError('heartbeat_too_long', message);
  }
  if (timeoutMs > leaseMs - heartbeatMs) {
    const left = `the lease without a heartbeat, ${leaseMs - heartbeatMs} ms`;
    throw new PaceError('timeout_too_long', `a time limit of ${timeoutMs} ms is more than ${left}`);
  }
}

/** @throws PaceError when the event that is to renew leases does more, or is not there. */
export function checkRenewal<M extends Machine>({ machine, renew }: Work<M>): void {
  if (!renew) return;
  const { event } = renew(1) as AnyEnd;
  const arrows = arrowsBy(machine, event);
  if (arrows.length > 0 && arrows.every(({ renewal }) => renewal)) return;
  throw new PaceError('no_renewal', `${machine.id}: "${event}" is not a renewal and nothing else`);
}
