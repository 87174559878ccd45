// The worker of webhooks as the service starts it, for the process that is killed and for the one
// that recovers: it works until nothing is due and all that it claimed has ended.

import { pino } from 'pino';
import { outbox } from '../../../machines/outbox.ts';
import type { Database } from '../../../persistence/database.ts';
import type { WakeListener } from '../../../persistence/wake-listener.ts';
import type { Channel } from '../../../services/deliveries/channel.ts';
import { webhookChannel } from '../../../services/deliveries/webhook.ts';
import { deliveryWork } from '../../../services/deliveries/worker.ts';
import { type Runs, startRuns } from '../../../services/runs/start.ts';
import type { Pace, Work } from '../../../services/runs/work.ts';
import { recorder } from '../recorder.ts';

const webhooks: Channel = webhookChannel({
  secret: `whsec_${'A'.repeat(32)}`,
  timeoutMs: 10_000,
  allowedRanges: ['127.0.0.0/8'],
});

/** A minute's lease: nothing happens by itself while a point is tried. */
const calm: Pace = {
  leaseMs: 60_000,
  heartbeatMs: 20_000,
  timeoutMs: 30_000,
  pollMs: 60_000,
  concurrency: 5,
  batch: 10,
};

const log = pino({ enabled: false });

export interface Worker {
  /** Resolves when nothing is due and nothing is under way, and it has stopped. */
  readonly idle: Promise<void>;
  readonly runs: Runs;
}

/** Starts a worker, whose work may be changed. */
export function startWorker(
  database: Database,
  wakes: Pick<WakeListener, 'onWake'>,
  change: (work: Work<typeof outbox>) => Work<typeof outbox> = (work) => work,
): Worker {
  const record = recorder();
  const runs = startRuns<typeof outbox>({
    database,
    machine: outbox,
    wakes,
    works: [change(deliveryWork({ database, channel: webhooks, log }))],
    pace: calm,
    reapMs: 60_000,
    log,
    observe: record.observe,
  });
  const hasNothing = () => {
    const claimed = record.of('claimed').reduce((sum, { count }) => sum + count, 0);
    const over = new Set([...record.of('ended'), ...record.of('dropped')].map(({ run }) => run));
    return record.of('waiting').length > 0 && over.size === claimed;
  };
  const idle = record.until(hasNothing).then(() => runs.stop(10_000));
  return { idle, runs };
}
