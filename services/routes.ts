// The whole route table: what server.ts serves, and what the tests of every route read.

import { machines } from '../machines/all.ts';
import type { Database } from '../persistence/database.ts';
import { type DeliveryRoutesOptions, deliveryRoutes } from './deliveries/routes.ts';
import { type DocumentRoutesOptions, documentRoutes } from './documents/routes.ts';
import { documentationRoutes } from './http/documentation.ts';
import { healthRoutes } from './http/health.ts';
import type { Route } from './http/route.ts';
import { machineRoutes } from './machines/routes.ts';
import { mailboxRoutes } from './mailbox/routes.ts';
import type { Metrics } from './metrics/metrics.ts';
import { metricsRoutes } from './metrics/route.ts';
import { type BranchesOptions, branchesRoutes } from './operations/routes.ts';
import { type ProposalRoutesOptions, proposalRoutes } from './proposals/routes.ts';
import { toolRegistry } from './proposals/tools.ts';
import type { Readiness } from './readiness.ts';

export interface RoutesOptions
  extends DeliveryRoutesOptions,
    DocumentRoutesOptions,
    BranchesOptions {
  readonly database: Database;
  /** Whether mails go to the development mailbox. */
  readonly mailbox: boolean;
  readonly metrics: Pick<Metrics, 'read'> & Partial<Pick<Metrics, 'saved'>>;
  readonly plans: Omit<ProposalRoutesOptions, 'database'>;
}

type Asked = Pick<Readiness, 'phase' | 'state'>;

/** Every route, those of health first: they are served before the others can be. */
export function routesOf(options: RoutesOptions, readiness: Asked): readonly Route[] {
  const { metrics } = options;
  const table = [
    ...healthRoutes(readiness),
    ...deliveryRoutes(options),
    ...machineRoutes({ database: options.database, machines }),
    ...documentRoutes({ ...options, ...(metrics.saved && { saved: metrics.saved }) }),
    ...branchesRoutes(options),
    ...proposalRoutes({ ...options.plans, database: options.database }),
    ...metricsRoutes(metrics),
    ...(options.mailbox ? mailboxRoutes(options.database) : []),
  ];
  return [...table, ...documentationRoutes(table)];
}

/** Every route that there can be, as a table to read: nobody can call them. */
export function describedRoutes(): readonly Route[] {
  const uncalled = (): never => {
    throw new Error('a described route is not called');
  };
  const database = new Proxy({} as Database, { get: uncalled });
  const announcements = { watch: uncalled };
  const webhooks = { allowedRanges: [] };
  const plans = {
    tools: toolRegistry([]),
    fourEyes: 'never',
    executor: { execute: uncalled, watch: uncalled },
    previewMs: 0,
  } as const;
  const options = {
    plans,
    database,
    announcements,
    sender: '',
    webhooks,
    mailbox: true,
    metrics: { read: async () => '' },
  };
  return routesOf(options, { phase: 'starting', state: async () => 'starting' });
}
