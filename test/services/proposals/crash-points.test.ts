// Every statement of a plan that is carried out, as the point at which its process dies or its
// connection breaks. And the same walk on executors with known bugs, which must not come through.

import { sql } from 'kysely';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { proposal } from '../../../machines/proposal.ts';
import { heal } from '../../../persistence/claims.ts';
import { transaction } from '../../../persistence/transaction.ts';
import type { runStep } from '../../../services/proposals/step.ts';
import { noteOf, walk } from '../../support/crash-points.ts';
import type { Fate } from '../../support/dying-client.ts';
import { useOpened } from '../../support/opened.ts';
import { doing, step } from '../../support/plan-tools.ts';
import { approved, executing, leaseLapses, read, toolsWith } from '../../support/plans.ts';
import { signal } from '../../support/signal.ts';
import { stepMutants } from '../../support/step-mutants.ts';

const inUse = vi.hoisted(() => ({ runStep: undefined as typeof runStep | undefined }));

vi.mock('../../../services/proposals/step.ts', async (original) => {
  const real = await original<typeof import('../../../services/proposals/step.ts')>();
  const chosen: typeof runStep = (...given) => (inUse.runStep ?? real.runStep)(...given);
  return { ...real, runStep: chosen };
});

const database = useOpened();
const fails = doing('fails', async () => {
  throw new Error('as it must');
});
const tools = toolsWith(fails);
const scenarios = {
  'two steps': () => [noteOf('one'), noteOf('two')],
  'a step that fails': () => [noteOf('one'), step(fails), noteOf('never')],
};

afterEach(() => {
  inUse.runStep = undefined;
});

describe.each(Object.entries(scenarios))('a plan of %s', (_, steps) => {
  it.each<Fate>(['killed', 'unanswered'])('is whole wherever it is %s', async (fate) => {
    const { findings, points, statuses } = await walk(database(), { tools, steps, fate });
    expect(findings).toEqual([]);
    process.stdout.write(`${fate}: ${points} points, ${JSON.stringify(statuses)}\n`);
    expect(points).toBeGreaterThan(20);
  });
});

/** Whether a live step keeps its run, though the lease that the row says has lapsed. */
async function keptWhileItRuns(): Promise<boolean> {
  const [reached, goOn] = [signal(), signal()];
  const waits = doing('waits', async () => {
    reached.give();
    await goOn.given;
  });
  const both = toolsWith(waits);
  const id = await approved(database(), both, [noteOf('first'), step(waits)]);
  await leaseLapses(database(), id);
  const executor = executing(database(), both);
  await executor.execute(id, 'grace');
  await reached.given;
  const healed = await transaction(database(), (tx) => heal(tx, proposal, id));
  goOn.give();
  await executor.ended(id);
  return healed === undefined && (await read(database(), id)).row.status === 'executed';
}

describe('an executor with a known bug', () => {
  beforeAll(async () => {
    // So that it is the walk that finds it, and not the database that refuses it.
    await sql`alter table fencepost.proposal disable trigger receipted`.execute(database().db);
  });

  it('is not what the product has', async () => {
    expect(await keptWhileItRuns()).toBe(true);
  });

  it.each(Object.entries(stepMutants))('does not come through: %s', async (_, mutant) => {
    inUse.runStep = mutant;
    const steps = scenarios['two steps'];
    const walked = { tools, steps, fate: 'killed' as const, untilFound: true };
    const { findings } = await walk(database(), walked);
    const isSafe = findings.length === 0 && (await keptWhileItRuns());
    expect(isSafe).toBe(false);
  });
});
