// The workers of branch operations as the service starts them, for the process that is killed and
// for the one that recovers: they take one operation after the other until nothing is due and all
// that they claimed has ended. They wait for nothing.

import { pino } from 'pino';
import type { dbops } from '../../../machines/dbops.ts';
import { dbops as machine } from '../../../machines/dbops.ts';
import type { Database } from '../../../persistence/database.ts';
import type { WakeListener } from '../../../persistence/wake-listener.ts';
import { neonProvider } from '../../../services/operations/neon.ts';
import { paceOf } from '../../../services/operations/pace.ts';
import type { Provider } from '../../../services/operations/provider.ts';
import { operationWorks } from '../../../services/operations/worker.ts';
import { type Runs, startRuns } from '../../../services/runs/start.ts';
import { recorder } from '../recorder.ts';

/** Where the fake is. */
export interface Account {
  readonly url: string;
  readonly key: string;
  readonly project: string;
}

/** Two minutes' lease: nothing happens by itself while a point is tried. */
const times = { leaseMs: 120_000, deadlineMs: 1_800_000, sendWindowMs: 10_000 };
const never = 3_600_000;
const log = pino({ enabled: false });

export const accountProvider = ({ url, key, project }: Account): Provider =>
  neonProvider({ url, key, project, timeoutMs: 5000 });

export interface OperationWorkers {
  /** Resolves when nothing is due and nothing is under way, and they have stopped. */
  readonly idle: Promise<void>;
  readonly runs: Runs;
}

export function startOperationWorkers(
  database: Database,
  wakes: Pick<WakeListener, 'onWake'>,
  provider: Provider,
): OperationWorkers {
  const record = recorder();
  const pause = () => new Promise(setImmediate);
  const works = operationWorks({ database, provider, times, log, pause });
  const runs = startRuns<typeof dbops>({
    ...{ database, machine, wakes, works, reapMs: never, log, observe: record.observe },
    // One at a time, so that what the fake is to do wrong meets the same operation each time.
    pace: { ...paceOf(times, never), concurrency: 1 },
  });
  /** Both works have found nothing since they last claimed something. */
  const hasNothing = () => {
    const claimed = record.of('claimed').reduce((sum, { count }) => sum + count, 0);
    const over = [...record.of('ended'), ...record.of('dropped')].length;
    const isWaiting = works.every(({ name }) => {
      const mine = record.events.filter(({ by }) => by.endsWith(name));
      const last = mine.findLast(({ type }) => type === 'claimed' || type === 'waiting');
      return last?.type === 'waiting';
    });
    return isWaiting && over >= claimed;
  };
  const idle = record.until(hasNothing).then(() => runs.stop(10_000));
  return { idle, runs };
}
