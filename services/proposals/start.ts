// Starts what runs of proposals in a process: the executor of approved plans, and the reaper that
// has leases lapse and proposals expire.
//
// - There are no workers: plans are executed by the process in which somebody asks for it.

import { proposal } from '../../machines/proposal.ts';
import { limitsBelow } from '../../persistence/limits.ts';
import { type Ground, lastResortMs } from '../ground.ts';
import { startRuns } from '../runs/start.ts';
import { type Executor, openExecutor } from './executor.ts';
import type { ProposalRoutesOptions } from './routes.ts';
import type { ToolRegistry } from './tools.ts';

/** Previews have at most one of so many connections. */
const previewShare = 5;

/** What the routes of proposals stand on. */
export type Plans = Omit<ProposalRoutesOptions, 'database'> & { readonly executor: Executor };

export function startProposals(ground: Ground, tools: ToolRegistry): Plans {
  const { config, log, database, wakes, shutdown } = ground;
  const { planLeaseMs: leaseMs, toolTimeoutMs: toolMs, reapMs, pollMs } = config;
  const limits = limitsBelow(leaseMs);
  const executor = openExecutor({
    ...{ database, tools, limits, toolMs, leaseMs, log },
    concurrency: config.planConcurrency,
  });
  const pace = { leaseMs, pollMs, heartbeatMs: Math.floor(leaseMs / 3), timeoutMs: toolMs };
  const runs = startRuns<typeof proposal>({
    ...{ database, machine: proposal, wakes, works: [], reapMs, log },
    pace: { ...pace, concurrency: 1, batch: 1 },
    observe: ground.metrics.observe,
  });
  shutdown.defer('proposals: reaper', () => runs.stop(0));
  const { shutdownGraceMs: graceMs } = config;
  shutdown.defer('proposals', () => executor.stop(graceMs), graceMs + lastResortMs);
  ground.onHurry(executor.hurry);
  const { fourEyes, previewTimeoutMs: previewMs, previewLockTimeoutMs: lockMs } = config;
  const mostPreviews = Math.max(1, Math.floor(config.connections / previewShare));
  return { executor, tools, fourEyes, previewMs, lockMs, mostPreviews };
}
