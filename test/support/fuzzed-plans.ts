// Plans for requests of every kind: for each route one that is where the route can do something
// with it, and the body that it would take.

import type { Database } from '../../persistence/database.ts';
import { type Route, routeName } from '../../services/http/route.ts';
import { doing, step } from './plan-tools.ts';
import { approved, proposed, toolsWith, watched, writing } from './plans.ts';
import { plansOn } from './proposal-api.ts';

const broken = doing('broken', async () => {
  throw new Error('for a test');
});

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
  const isPlans = ({ path }: Route) => path.startsWith('/v1/proposals');
  const wordOf = ({ path }: Route) => path.split('/')[4] ?? '';

  return {
    plans: plansOn(executor, tools),
    idFor: (route: Route) => (isPlans(route) ? (ids[wordOf(route)] ?? failed) : undefined),
    bodyFor(route: Route): object | undefined {
      if (routeName(route) === 'POST /v1/proposals') {
        const { tool, arguments: given } = writing('fuzz');
        return { steps: [{ tool, arguments: given }], rationale: 'fuzz' };
      }
      if (!isPlans(route)) return undefined;
      return wordOf(route) === 'approve' ? { planHash: waiting.planHash } : { reason: 'fuzz' };
    },
    close: () => executor.stop(0),
  };
}
