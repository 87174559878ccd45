// An executor that the crash sweep kills. Its arguments are a plan that is previewed, one that can
// be carried out and one that fails; the last one may name a bug, in which the middle plan is
// carried out by another way of doing a step.

import { pino } from 'pino';
import { proposal } from '../../../machines/proposal.ts';
import { claim } from '../../../persistence/claims.ts';
import type { Database } from '../../../persistence/database.ts';
import { readSteps } from '../../../persistence/proposals.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { openExecutor } from '../../../services/proposals/executor.ts';
import { noteDelete, noteWrite } from '../../../services/proposals/notes.ts';
import { preview } from '../../../services/proposals/preview.ts';
import { toolRegistry } from '../../../services/proposals/tools.ts';
import { type Signal, signal } from '../signal.ts';
import { stepMutants } from '../step-mutants.ts';
import { sweptChild } from './swept-child.ts';

const tools = toolRegistry([noteWrite, noteDelete]);
const leaseMs = 120_000;

/** Claims a plan and carries it out by a known bug. */
async function carryOutBadly(database: Database, id: string, mutant: string): Promise<void> {
  const fields = { owner: 'mutant', lease_ms: leaseMs, executed_by: 'grace' };
  const claimed = await transaction(database, async (tx) => {
    const [row] = await claim(tx, proposal, 'execute', { limit: 1, where: { id }, ...fields });
    return row && { row, steps: await readSteps(tx, id) };
  });
  const runStep = stepMutants[mutant];
  if (!claimed || !runStep) throw new Error(`${id} is not carried out by "${mutant}"`);
  const { row, steps } = claimed;
  const run = {
    ...{ id, fence: row.fence, steps, proposer: row.proposer, approvedBy: row.approved_by },
    ...{ requestedBy: 'grace', outputs: new Map(), leaseEndsAt: performance.now() + leaseMs },
  };
  const options = { database, tools, limits: database.limits, toolMs: 10_000, leaseMs };
  for (const index of steps.keys()) await runStep(options, run, index);
}

await sweptChild(async (database, [previewed = '', good = '', failing = '', mutant]) => {
  const ends = new Map<string, Signal<void>>();
  const executor = openExecutor({
    ...{ database, tools, limits: database.limits, toolMs: 10_000, leaseMs, concurrency: 5 },
    log: pino({ enabled: false }),
    observe: (event) => {
      if (event.type === 'ended') ends.get(event.proposal)?.give();
    },
  });

  /** Asks, and where no answer came asks again, as whoever is at the other end would. */
  async function carryOut(id: string): Promise<void> {
    const ended = signal();
    ends.set(id, ended);
    const ask = () => executor.execute(id, 'grace');
    const asked = await ask().catch(ask);
    if (asked.outcome === 'started') await ended.given;
  }

  return {
    async work() {
      const asked = { database, tools, previewMs: 10_000 };
      await preview(asked, { id: previewed, actor: 'grace' }).catch(() => undefined);
      if (mutant) return await carryOutBadly(database, good, mutant);
      await carryOut(good);
      await carryOut(failing);
    },
    close: () => executor.stop(0),
  };
});
