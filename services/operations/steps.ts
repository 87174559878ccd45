// What a worker does with one operation, a step at a time: issue it, look for what it may have
// started, or poll. Which of these is next is read off the row, so a successor goes on where the
// last one was.
//
// - The intent is committed before the call, and the call is made within the send window after it
//   was asked for, by this process's monotonic clock. Whoever stood still in between does not call.
// - Only `refused` takes the intent back. After anything else the provider is asked for operations
//   newer than the mark, and never for the change again.
// - "Not found" says something only if it was asked after the intent had settled: then it is
//   `unknown`.

import type { dbops } from '../../machines/dbops.ts';
import { storable } from '../../persistence/text.ts';
import type { End } from '../runs/work.ts';
import type { Hand, Moved, Operation } from './hand.ts';
import type { OperationTimes } from './pace.ts';
import {
  type Answer,
  type Change,
  changeSchema,
  type ExternalOperation,
  externalOperationSchema,
  type Provider,
  type Trouble,
} from './provider.ts';

/** The end of the run, or the row and the moment from which the next step waits. */
export type Step = { readonly end: End<typeof dbops> } | Moved;

export interface StepOptions {
  readonly provider: Provider;
  readonly times: OperationTimes;
  readonly signal: AbortSignal;
}

const longestError = 2000;
const longestRetryAfterMs = 3_600_000;

const failed = (outcome: 'not_issued' | 'failed' | 'unknown', error: string): Step => ({
  end: { event: 'fail', fields: { outcome, error: storable(error, longestError) } },
});
const waitOf = ({ retryAfterMs }: Trouble): { readonly retry_after_ms: number | null } => ({
  retry_after_ms:
    retryAfterMs === null ? null : Math.min(Math.ceil(retryAfterMs), longestRetryAfterMs),
});

export const changeOf = (row: Operation): Change => changeSchema.parse(row.request);

export function operationsOf(row: Operation): readonly ExternalOperation[] {
  return externalOperationSchema.array().parse(row.operations ?? []);
}

/** Tells the operator what to look at before asking again. */
function unknownOf(provider: Provider, row: Operation): string {
  const { branch } = changeOf(row);
  const newer =
    row.issue_mark === null ? 'any operation' : `an operation newer than ${row.issue_mark}`;
  return (
    `The call to ${provider.name} was about to be made or was made, and no operation of it was found. ` +
    `Look there whether branch "${branch}" has ${newer}, and what is in the branch, before you ask again.`
  );
}

export function stepsOf(hand: Hand, { provider, times, signal }: StepOptions) {
  const lease = { lease_ms: times.leaseMs };

  /** The machine refused what it had to accept: the row is not what this worker takes it for. */
  function must(moved: Moved | undefined, event: string): Moved {
    if (moved) return moved;
    throw new Error(`"${event}" was refused in ${JSON.stringify(hand.row())}`);
  }

  async function troubled(trouble: Trouble): Promise<Step> {
    const error = storable(trouble.error, longestError);
    return must(await hand.send('troubled', { ...lease, ...waitOf(trouble), error }), 'troubled');
  }

  async function refused(trouble: Trouble & { readonly passing: boolean }): Promise<Step> {
    const error = storable(trouble.error, longestError);
    const sent = { ...lease, ...waitOf(trouble), error };
    const moved = must(await hand.send('issue.refused', sent), 'issue.refused');
    return trouble.passing ? moved : failed('not_issued', error);
  }

  const isUseless = <T>(answer: Answer<T>): answer is Answer<T> & Trouble => answer.result !== 'ok';

  /** Intent, call, and what the answer is certain of. */
  async function issue(): Promise<Step> {
    const change = changeOf(hand.row());
    const marked = await provider.mark(change, signal);
    if (marked.result === 'refused' && !marked.passing) return failed('not_issued', marked.error);
    if (isUseless(marked)) return await troubled(marked);
    const latest = performance.now() + times.sendWindowMs;
    const settle = { settle_ms: times.sendWindowMs + provider.timeoutMs };
    const intent = { ...lease, ...settle, issue_mark: marked.value };
    must(await hand.send('intend', intent), 'intend');
    if (signal.aborted || performance.now() > latest) {
      const error = 'not called: the process stood still, or is to stop';
      return await refused({ error, retryAfterMs: null, passing: true });
    }
    const answer = await provider.issue(change, latest);
    if (answer.result === 'refused') return await refused(answer);
    if (answer.result === 'unclear') return await troubled(answer);
    // An answer without operations names nothing that could be polled: they are looked for.
    if (answer.value.length === 0) {
      return await troubled({ error: 'accepted without an operation', retryAfterMs: null });
    }
    return must(await hand.send('issued', { ...lease, operations: answer.value }), 'issued');
  }

  /** The call may have been made: looks for what it started. */
  async function look(): Promise<Step> {
    // The moment must be read before the provider is asked.
    const { at, row } = must(await hand.send('renew', lease), 'renew');
    const isSettled = row.settles_at !== null && row.settles_at <= at;
    const found = await provider.since(changeOf(row), row.issue_mark, signal);
    if (isUseless(found)) return await troubled(found);
    if (found.value.length > 0) {
      return must(await hand.send('issued', { ...lease, operations: found.value }), 'issued');
    }
    if (isSettled) return failed('unknown', unknownOf(provider, row));
    return must(await hand.send('troubled', lease), 'troubled');
  }

  async function poll(): Promise<Step> {
    const row = hand.row();
    const polled = await provider.poll(changeOf(row), operationsOf(row), signal);
    if (isUseless(polled)) return await troubled(polled);
    const { operations, state } = polled.value;
    const moved = must(await hand.send('polled', { ...lease, operations }), 'polled');
    if (state === 'done') return { end: { event: 'succeed' } };
    if (state === 'going') return moved;
    const said = operations.map(({ id, status, detail }) => `${id} ${status}: ${detail ?? ''}`);
    return failed('failed', `${provider.name} could not do it. ${said.join('; ')}`);
  }

  return {
    next(): Promise<Step> {
      const row = hand.row();
      if (row.operations !== null) return poll();
      return row.issued_at === null ? issue() : look();
    },
  };
}
