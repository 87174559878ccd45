// Two processes that are asked a hundred times at once, over HTTP, for the same plan: it is run
// once, and all are told the same story.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { proposalRoutes } from '../../../services/proposals/routes.ts';
import { apiClient } from '../../support/api-client.ts';
import { startChild } from '../../support/child.ts';
import { uncalled } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';
import { approved, planFindings, read, toolsWith, writing } from '../../support/plans.ts';

const database = useOpened();
const served = z.object({ url: z.string(), token: z.string() });
const told = z.object({
  outcome: z.enum(['started', 'executing', 'finished']),
  status: z.string(),
  stepCount: z.literal(5),
  nextStep: z.int(),
  reason: z.null(),
  receipts: z.array(z.object({ output: z.unknown() })),
});

it('one plan that two processes are asked for a hundred times is run once', async () => {
  const steps = ['one', 'two', 'three', 'four', 'five'].map((text) => writing(text));
  const id = await approved(database(), toolsWith(), steps);
  const file = join(import.meta.dirname, 'race.child.ts');
  const children = [1, 2].map(() => startChild(file, [database().url]));
  const routes = proposalRoutes({ ...uncalled.plans, database: database() });
  const clients = await Promise.all(
    children.map(async (child) =>
      apiClient({ routes, ...served.parse(JSON.parse(await child.line())) }),
    ),
  );
  const asked = Array.from({ length: 50 }, () =>
    clients.map((client) => client.post(`/v1/proposals/${id}/execute`)),
  );
  const answers = await Promise.all(asked.flat());
  for (const child of children) child.process.stdin?.write('stop\n');
  for (const child of children) expect(await child.line()).toBe('done');

  expect(answers).toHaveLength(100);
  const stories = answers.map(({ body }) => told.parse(body));
  expect(stories.filter(({ outcome }) => outcome === 'started')).toHaveLength(1);
  const { row, receipts } = await read(database(), id);
  expect([row.status, row.fence, receipts.length]).toEqual(['executed', 1, 5]);
  const outputs = receipts.map(({ output }) => ({ output: JSON.parse(output ?? 'null') }));
  for (const [place, each] of stories.entries()) {
    // As far as it is told, it is what is there in the end.
    expect(each.receipts).toEqual(outputs.slice(0, each.nextStep));
    expect(each.outcome === 'finished').toBe(each.status === 'executed');
    expect(answers[place]?.status).toBe(each.outcome === 'finished' ? 200 : 202);
  }
  expect(await planFindings(database(), id)).toEqual([]);
});
