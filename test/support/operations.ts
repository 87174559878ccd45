// Operations in a test: asked for, worked on against the fake Neon without waiting, read as they
// are, and made older.

import { sql } from 'kysely';
import { onTestFinished } from 'vitest';
import type { dbops } from '../../machines/dbops.ts';
import type { Database } from '../../persistence/database.ts';
import { readOperation } from '../../persistence/operations.ts';
import { transaction } from '../../persistence/transaction.ts';
import { neonProvider } from '../../services/operations/neon.ts';
import { type OperationTimes, paceOf } from '../../services/operations/pace.ts';
import type { Change, Provider } from '../../services/operations/provider.ts';
import { enqueueChange } from '../../services/operations/request.ts';
import { operationWorks } from '../../services/operations/worker.ts';
import { type FakeNeon, openFakeNeon } from './fake-neon.ts';
import { keptLog, running } from './runs.ts';

export const times: OperationTimes = {
  leaseMs: 120_000,
  deadlineMs: 1_800_000,
  sendWindowMs: 10_000,
};

/** A fake with a root `main` and its branch `dev`, for one test. */
export async function fakeWithDev(): Promise<FakeNeon> {
  const fake = await openFakeNeon();
  onTestFinished(() => fake.close());
  fake.addBranch('main');
  fake.addBranch('dev', 'main');
  return fake;
}

export const providerOf = ({ url, key, project }: FakeNeon, timeoutMs = 5000): Provider =>
  neonProvider({ url, key, project, timeoutMs });

export const resetDev: Change = { action: 'reset', branch: 'dev' };

let keys = 0;
export async function ask(
  database: Database,
  provider: Pick<Provider, 'name'>,
  change: Change = resetDev,
): Promise<string> {
  keys += 1;
  const asking = { actor: 'ada', idempotencyKey: `key ${keys}`, change };
  const enqueued = await transaction(database, (tx) => enqueueChange(tx, provider, asking));
  if (enqueued.outcome !== 'accepted') throw new Error(JSON.stringify(enqueued));
  return enqueued.id;
}

interface Working {
  readonly times?: OperationTimes;
  /** Called instead of each wait. */
  readonly onPause?: (ms: number, signal: AbortSignal) => unknown;
  readonly pollMs?: number;
}

/** Workers of a provider's operations. They wait for nothing, and say how long they would have. */
export async function operating(database: Database, provider: Provider, options: Working = {}) {
  const { log } = keptLog();
  const pauses: number[] = [];
  const pause = async (ms: number, signal: AbortSignal) => {
    pauses.push(ms);
    await new Promise(setImmediate);
    await options.onPause?.(ms, signal);
  };
  const its = options.times ?? times;
  const works = operationWorks({ database, provider, times: its, log, pause });
  const [first] = works;
  if (!first) throw new Error('there are two works');
  const pace = paceOf(its, options.pollMs ?? 50);
  const runs = await running<typeof dbops>(database, first, {
    ...{ works, pace, reapMs: 50, lastMs: 1 },
  });
  return { ...runs, pauses };
}

export async function readRun(database: Database, id: string) {
  const row = await readOperation(database.db, id);
  if (!row) throw new Error(`there is no operation ${id}`);
  // When it was read is nothing of the run.
  const { read_at: _, ...run } = row;
  return run;
}

/** Waits for the end of the run that the workers of this process write, and reads the row. */
export async function ended(
  { until, of }: Pick<Awaited<ReturnType<typeof operating>>, 'until' | 'of'>,
  database: Database,
  id: string,
) {
  await until(
    () =>
      of('ended').some((each) => each.run === id && ['succeed', 'fail'].includes(each.event)) ||
      of('lapsed').length > 0,
  );
  return await readRun(database, id);
}

/** Writes columns as they are told, without any guard. */
export async function forceRun(database: Database, id: string, changes: string): Promise<void> {
  await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.operation set ${sql.raw(changes)} where id = ${id}::uuid`.execute(
      tx,
    );
  });
}

const past = `now() - interval '1 second'`;
export const lapse = `lease_expires_at = ${past}`;
export const settle = `settles_at = least(settles_at, ${past})`;
