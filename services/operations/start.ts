// Starts what runs of branch operations in a process: the workers of the configured provider, and
// the reaper of deadlines and lapsed leases.
//
// - Without a provider it only reaps: what another process left behind ends all the same.

import { dbops } from '../../machines/dbops.ts';
import { type Ground, lastResortMs } from '../ground.ts';
import { startRuns } from '../runs/start.ts';
import { neonProvider } from './neon.ts';
import { callTimeoutFor, paceOf, timesFor } from './pace.ts';
import { postgresProvider } from './postgres.ts';
import type { Provider } from './provider.ts';
import { operationWorks } from './worker.ts';

/**
 * Opens the provider whose branches the configuration names: what serves requests needs it before
 * the workers run. It is closed after them.
 */
export function openProvider(ground: Ground): Provider | undefined {
  const provider = providerOf(ground);
  const { config, shutdown } = ground;
  if (provider) shutdown.defer('branches', provider.close, config.shutdownGraceMs);
  return provider;
}

function providerOf({ config, log, database }: Ground): Provider | undefined {
  const { branches, neon, operationLeaseMs } = config;
  switch (branches) {
    case 'postgres':
      return postgresProvider({ database, log });
    case 'neon':
      return neonProvider({ ...neon, timeoutMs: callTimeoutFor(operationLeaseMs) });
    case 'none':
      return undefined;
    default:
      return branches satisfies never;
  }
}

export function startOperations(ground: Ground, provider: Provider | undefined): void {
  const { config, log, database, wakes, metrics, shutdown } = ground;
  const { shutdownGraceMs: graceMs, operationLeaseMs, operationDeadlineMs, reapMs } = config;
  const times = timesFor(operationLeaseMs, operationDeadlineMs);
  const works = provider ? operationWorks({ database, provider, times, log }) : [];
  const runs = startRuns<typeof dbops>({
    ...{ database, machine: dbops, wakes, works, reapMs, log },
    pace: paceOf(times, config.pollMs),
    observe: metrics.observe,
  });
  shutdown.defer('operations', () => runs.stop(graceMs), graceMs + lastResortMs);
  ground.onHurry(runs.hurry);
}
