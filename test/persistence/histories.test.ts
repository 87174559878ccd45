// Every simple path through every machine, from birth, on one run each.

import { describe, expect, it } from 'vitest';
import { declaredArrows } from '../support/declared.ts';
import { histories } from '../support/histories.ts';
import { eachMachine, useSubjects } from '../support/subject.ts';

const subjectOf = useSubjects();

describe.each(eachMachine)('%s', (name, entry) => {
  it('lives each history as it does in memory, and its journal tells it', async () => {
    const report = await histories(subjectOf(entry));
    expect(report.findings).toEqual([]);
    expect([...report.arrows].sort()).toEqual(declaredArrows(entry.machine));
    expect(report.histories).toBeGreaterThan(declaredArrows(entry.machine).length);
    process.stdout.write(`${name}: ${report.histories} histories of ${report.steps} steps\n`);
  });
});
