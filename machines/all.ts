// The persisted machines of this service. Adding one here installs it at start and runs every
// generated test on it; its table comes with a migration.

import { dbops } from './dbops.ts';
import { outbox } from './outbox.ts';
import { proposal } from './proposal.ts';
import type { Machine } from './status-machine.ts';

export const machines: readonly Machine[] = [outbox, proposal, dbops];
