// Workers and reaper in a test: runs of the outbox in a database of their own, handled by what the
// test says, with every event that happens.
//
// - Nothing is judged by time: a test waits for events, or for a line of the log.

import { Writable } from 'node:stream';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { limitsBelow } from '../../persistence/limits.ts';
import { openWakeListener } from '../../persistence/wake-listener.ts';
import { type Runs, type RunsOptions, startRuns } from '../../services/runs/start.ts';
import type { Pace, Work } from '../../services/runs/work.ts';
import { fresh } from './opened.ts';
import { recorder } from './recorder.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A log that keeps its lines. */
export function keptLog() {
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { log: pino({ level: 'debug' }, stream), lines };
}

/** A minute's lease, so that nothing happens by itself unless a test asks for it. */
export const calm: Pace = {
  leaseMs: 60_000,
  heartbeatMs: 20_000,
  timeoutMs: 30_000,
  pollMs: 60_000,
  concurrency: 10,
  batch: 100,
};

type Delivery = Work<typeof outbox>;

/** Work of the outbox that ends every run with `sent`. */
export const sending = (overrides: Partial<Delivery> = {}): Delivery => ({
  name: 'email',
  machine: outbox,
  claim: 'claim',
  where: { channel: 'email' },
  claimFields: ({ owner, leaseMs }) => ({ owner, lease_ms: leaseMs }),
  renew: (leaseMs) => ({ event: 'renew', fields: { lease_ms: leaseMs } }),
  release: { event: 'release' },
  handle: async () => ({ event: 'sent', fields: { receipt: null } }),
  onThrow: (error) => ({
    event: 'fail',
    fields: { retryable: true, unknown: true, error: String(error) },
  }),
  ...overrides,
});

type Overrides<M extends Machine> = Partial<
  Omit<RunsOptions<M>, 'pace' | 'database' | 'machine'>
> & {
  readonly pace?: Partial<Pace>;
};

/** Starts runs for one test. They are stopped at once when it has finished. */
export async function running<M extends Machine>(
  database: Database,
  work: Work<M>,
  { pace, ...overrides }: Overrides<M> = {},
) {
  const { log, lines } = keptLog();
  const record = recorder();
  const wakes = await openWakeListener(database);
  const runs: Runs = startRuns<M>({
    database,
    machine: work.machine,
    wakes,
    works: [work],
    pace: { ...calm, ...pace },
    reapMs: 60_000,
    log,
    observe: record.observe,
    ...overrides,
  });
  onTestFinished(async () => {
    await runs.stop(0);
    await wakes.close();
  });
  return { runs, lines, ...record };
}

/** A database for one test, whose transactions are short enough for leases of this length. */
export const freshFor = (leaseMs: number): Promise<Database> =>
  fresh({ limits: limitsBelow(leaseMs) });
