// Random plans with failing steps, and a random fate at a random statement, against a model: the
// steps before the first that fails are done once, in order, and none after it. What a crash left
// is a new plan, and comes to the same.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Database } from '../../../persistence/database.ts';
import { readLinked } from '../../../persistence/proposals.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { continuePlan } from '../../../services/proposals/follow-up.ts';
import { atPoint, noteOf } from '../../support/crash-points.ts';
import type { Fate } from '../../support/dying-client.ts';
import { useOpened } from '../../support/opened.ts';
import { doing, step } from '../../support/plan-tools.ts';
import { approvedOne, notes, planFindings, read, toolsWith, watched } from '../../support/plans.ts';
import { seedOfRun } from '../../support/properties.ts';

const database = useOpened();
const seed = seedOfRun('random plans');
const runs = 24;

const fails = doing('fails', async () => {
  throw new Error('as it must');
});
const tools = toolsWith(fails);

const planned = fc.record({
  kinds: fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.constant('writes' as const) },
      { weight: 1, arbitrary: fc.constant('fails' as const) },
    ),
    { minLength: 1, maxLength: 5 },
  ),
  point: fc.integer({ min: 2, max: 70 }),
  fate: fc.constantFrom<Fate>('killed', 'unanswered'),
});

/** Has what is left carried out by a process that lives: the plan itself, or its continuation. */
async function finish(given: Database, id: string, kinds: readonly string[]): Promise<string> {
  const { row, receipts } = await read(given, id);
  // A step may also have failed because its connection broke: what is left is tried again.
  const failed = receipts.find(({ outcome }) => outcome === 'failed');
  if (row.status === 'executed' || (failed && kinds[failed.index] === 'fails')) return id;
  const options = { tools, fourEyes: 'never' } as const;
  let next = id;
  if (row.status === 'failed') {
    const continued = await transaction(given, (tx) =>
      continuePlan(tx, options, { id, actor: 'ada' }),
    );
    if (continued.outcome !== 'proposed') throw new Error(JSON.stringify(continued));
    next = continued.id;
    await approvedOne(given, next, continued.planHash);
  }
  const executor = watched(given, tools);
  await executor.execute(next, 'grace');
  await executor.ended(next);
  return next;
}

it('random plans come to what the model says, whatever happens to their process', async () => {
  const statuses: Record<string, number> = {};
  const property = fc.asyncProperty(planned, async ({ kinds, point, fate }) => {
    const given = database();
    const steps = kinds.map((kind, i) => (kind === 'fails' ? step(fails) : noteOf(`step ${i}`)));
    const first = kinds.indexOf('fails');
    const wanted = first < 0 ? kinds.length : first;

    const at = await atPoint(given, { tools, steps: () => steps, fate }, point);
    expect(at.findings).toEqual([]);
    statuses[at.status] = (statuses[at.status] ?? 0) + 1;
    const before = await read(given, at.id);
    expect(before.row.next_step).toBeLessThanOrEqual(wanted);

    const last = await finish(given, at.id, kinds);
    expect(await planFindings(given, last)).toEqual([]);
    const end = await read(given, last);
    const kept = last === at.id ? 0 : before.row.next_step;
    expect(kept + end.row.next_step).toBe(wanted);
    expect(end.row.status).toBe(first < 0 ? 'executed' : 'failed');
    expect(await readLinked(given.db, last)).toEqual([]);
    const written = await notes(given);
    const there = steps.map(({ arguments: note }) => written.has((note as { id: string }).id));
    expect(there).toEqual(kinds.map((_, i) => i < wanted));
  });
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: true });
  process.stdout.write(`random plans: ${JSON.stringify(statuses)}\n`);
  expect(Object.values(statuses).reduce((sum, each) => sum + each, 0)).toBe(runs);
});
