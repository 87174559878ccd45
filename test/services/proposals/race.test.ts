// Two processes that ask a hundred times at once for the same plan: it is run once, and all are
// told the same story.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ExecuteOutcome, Progress } from '../../../services/proposals/executor.ts';
import { startChild } from '../../support/child.ts';
import { useOpened } from '../../support/opened.ts';
import { approved, planFindings, read, toolsWith, writing } from '../../support/plans.ts';

const database = useOpened();
const isProgress = (outcome: ExecuteOutcome): outcome is Progress => 'receipts' in outcome;

it('one plan that two processes are asked for a hundred times is run once', async () => {
  const steps = ['one', 'two', 'three', 'four', 'five'].map((text) => writing(text));
  const id = await approved(database(), toolsWith(), steps);
  const file = join(import.meta.dirname, 'race.child.ts');
  const children = [1, 2].map(() => startChild(file, [database().url, id, '50']));
  for (const child of children) expect(await child.line()).toBe('ready');
  for (const child of children) child.process.stdin?.write('go\n');
  const lines = await Promise.all(children.map((child) => child.line()));
  for (const child of children) expect(await child.line()).toBe('done');

  const outcomes = lines.flatMap((line) => JSON.parse(line) as readonly ExecuteOutcome[]);
  const told = outcomes.filter(isProgress);
  expect([outcomes.length, told.length]).toEqual([100, 100]);
  expect(told.filter(({ outcome }) => outcome === 'started')).toHaveLength(1);
  const { row, receipts } = await read(database(), id);
  expect([row.status, row.fence, receipts.length]).toEqual(['executed', 1, 5]);
  for (const each of told) {
    expect(each).toMatchObject({ id, steps: 5, reason: null });
    // As far as it is told, it is what is there in the end.
    expect(each.receipts.map(({ output }) => output)).toEqual(
      receipts.slice(0, each.nextStep).map(({ output }) => JSON.parse(output ?? 'null')),
    );
    expect(each.outcome === 'finished').toBe(each.status === 'executed');
  }
  expect(await planFindings(database(), id)).toEqual([]);
});
