// Starts the deliveries of a process: workers of every configured channel, and their reaper.

import { outbox } from '../../machines/outbox.ts';
import { type Ground, lastResortMs } from '../ground.ts';
import { startRuns } from '../runs/start.ts';
import type { Channel } from './channel.ts';
import { deliveryWork } from './worker.ts';

export function startDeliveries(ground: Ground, channels: readonly Channel[]): void {
  const { config, log, database, wakes, metrics, shutdown } = ground;
  const { shutdownGraceMs: graceMs, sendTimeoutMs: timeoutMs, reapMs } = config;
  const runs = startRuns<typeof outbox>({
    database,
    machine: outbox,
    wakes,
    works: channels.map((channel) => deliveryWork({ database, channel, log })),
    pace: { ...config, timeoutMs },
    reapMs,
    log,
    observe: metrics.observe,
  });
  shutdown.defer('deliveries', () => runs.stop(graceMs), graceMs + lastResortMs);
  ground.onHurry(runs.hurry);
}
