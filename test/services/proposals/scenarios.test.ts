// The scenarios that are walked through by killing their process at every message: undisturbed,
// each comes to what it is called.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startChild } from '../../support/child.ts';
import { useOpened } from '../../support/opened.ts';
import { foundAfter, planned, planScenarios } from '../../support/plan-scenarios.ts';
import { read } from '../../support/plans.ts';

const database = useOpened();
const file = join(import.meta.dirname, '..', '..', 'support', 'plan.child.ts');

it('every scenario of a plan is whole when nothing happens to its process', async () => {
  const ends = await Promise.all(
    Object.entries(planScenarios).map(async ([name, scenario]) => {
      const id = await planned(database(), scenario);
      const child = startChild(file, [database().url, scenario.what, id]);
      const { code, output } = await child.exit;
      expect(code, output).toBe(0);
      expect(await foundAfter(database(), scenario, id)).toEqual([]);
      const { row, outcomes } = await read(database(), id);
      return [name, row.status, outcomes.join()];
    }),
  );
  expect(ends).toEqual([
    ['three steps', 'executed', 'ok,ok,ok'],
    ['the second of three fails', 'failed', 'ok,failed'],
    ['a preview', 'approved', ''],
  ]);
});
