// The scenarios of the crash sweep, by machine.

import { dbopsScenario } from './dbops.ts';
import { documentScenario } from './document.ts';
import { outboxScenario } from './outbox.ts';
import { proposalScenario } from './proposal.ts';
import type { Scenario } from './scenario.ts';

export const scenarios: readonly Scenario[] = [
  outboxScenario,
  proposalScenario,
  dbopsScenario,
  documentScenario,
];
