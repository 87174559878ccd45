// What the domains of the service stand on. server.ts lays it once; each domain's start.ts takes it
// and starts what of the domain runs by itself.

import type { Logger } from 'pino';
import type { Database } from '../persistence/database.ts';
import type { WakeListener } from '../persistence/wake-listener.ts';
import type { Config } from './config.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Shutdown } from './shutdown.ts';

/** How long a part may take to close beyond the grace that it was given. */
export const lastResortMs = 10_000;

export interface Ground {
  readonly config: Config;
  readonly log: Logger;
  readonly database: Database;
  readonly wakes: WakeListener;
  readonly metrics: Metrics;
  readonly shutdown: Shutdown;
  /** Registers what a second signal calls: it ends the wait for what still runs. */
  readonly onHurry: (hurry: () => void) => void;
}
