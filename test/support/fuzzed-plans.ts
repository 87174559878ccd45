// Plans for requests of every kind: for each route one that is where the route can do something
// with it, and the body that it would take.

import type { Database } from '../../persistence/database.ts';
import type { Route } from '../../services/http/route.ts';
import type { FuzzCase } from './fuzz-cases.ts';
import { doing, step } from './plan-tools.ts';
import { approved, proposed, toolsWith, watched, writing } from './plans.ts';
import { plansOn } from './proposal-api.ts';

const broken = doing('broken', async () => {
  throw new Error('for a test');
});

export type FuzzedPlans = Awaited<ReturnType<typeof openFuzzedPlans>>;

/** Makes the plans, with an executor that who opens them closes. */
export async function openFuzzedPlans(database: Database) {
  const tools = toolsWith(broken);
  const executor = watched(database, tools);
  const plan = () => proposed(database, tools, [writing('fuzz')]);
  const waiting = await plan();
  const failed = await approved(database, tools, [writing('fuzz'), step(broken)]);
  await executor.execute(failed, 'fuzz');
  await executor.ended(failed);
  const ids: Readonly<Record<string, string>> = {
    preview: (await plan()).id,
    approve: waiting.id,
    reject: (await plan()).id,
    execute: await approved(database, tools, [writing('fuzz')]),
    continue: failed,
    compensate: failed,
    events: failed,
  };
  return {
    plans: plansOn(executor, tools),
    /** The case of a route of proposals. */
    caseOf({ path }: Route): FuzzCase {
      if (!path.startsWith('/v1/proposals')) return {};
      const word = path.split('/')[4] ?? '';
      const bodies: Readonly<Record<string, () => object[]>> = {
        '': () => [{ steps: [writing('fuzz')], rationale: 'fuzz' }],
        approve: () => [{ planHash: waiting.planHash }],
        reject: () => [{ reason: 'fuzz' }],
      };
      const own = bodies[word];
      return { params: { id: ids[word] ?? failed }, ...(own && { bodies: own }) };
    },
    close: () => executor.stop(0),
  };
}
