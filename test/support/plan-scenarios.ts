// Plans for walks through every message of a process: what a walk prepares, what the process is
// asked (plan.child.ts), and what must hold once it is gone and the plan was recovered.

import type { Database } from '../../persistence/database.ts';
import type { NewStep } from '../../services/proposals/tools.ts';
import { noteOf } from './crash-points.ts';
import { doing, step } from './plan-tools.ts';
import { approved, planFindings, read, recovered, toolsWith } from './plans.ts';

const failing = doing('fails', async () => {
  throw new Error('as it must');
});

export const scenarioTools = toolsWith(failing);

export interface PlanScenario {
  /** The second argument of plan.child.ts. */
  readonly what: 'execute' | 'preview';
  readonly steps: () => readonly NewStep[];
}

export const planScenarios = {
  'three steps': {
    what: 'execute',
    steps: () => [noteOf('one'), noteOf('two'), noteOf('three')],
  },
  'the second of three fails': {
    what: 'execute',
    steps: () => [noteOf('one'), step(failing), noteOf('never')],
  },
  'a preview': { what: 'preview', steps: () => [noteOf('one'), noteOf('two')] },
} as const satisfies Readonly<Record<string, PlanScenario>>;

/** Makes the scenario's plan, approved, and returns its id: the child's third argument. */
export const planned = (database: Database, { steps }: PlanScenario): Promise<string> =>
  approved(database, scenarioTools, steps());

/**
 * What is wrong once the process is gone: lapses the lease and heals first, as a reaper would in
 * time. A preview must have left nothing at all.
 */
export async function foundAfter(
  database: Database,
  { what }: PlanScenario,
  id: string,
): Promise<readonly string[]> {
  await recovered(database, id);
  const findings = await planFindings(database, id);
  if (what === 'execute') return findings;
  const { row, receipts } = await read(database, id);
  return [
    ...findings,
    ...(row.status === 'approved' && row.seq === 1 ? [] : [`the preview left it ${row.status}`]),
    ...(receipts.length > 0 ? ['the preview left receipts'] : []),
  ];
}
