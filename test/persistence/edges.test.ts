// Every reachable state of every machine with every event, in SQL beside memory.

import { describe, expect, it } from 'vitest';
import { declaredArrows, declaredPairs } from '../support/declared.ts';
import { type EdgeReport, edges } from '../support/edges.ts';
import { selectors } from '../support/selectors.ts';
import { eachMachine, useSubjects } from '../support/subject.ts';

const subjectOf = useSubjects();

describe.each(eachMachine)('%s', (_, entry) => {
  let report: EdgeReport;

  it('does by id what it does in memory, in every state and for every event', async () => {
    report = await edges(subjectOf(entry));
    expect(report.findings).toEqual([]);
  });

  it('was checked in every status with every event, and took every declared arrow', () => {
    const { machine } = entry;
    expect([...report.pairs].sort()).toEqual(declaredPairs(machine));
    expect([...report.arrows].sort()).toEqual(declaredArrows(machine));
    const size = Object.keys(machine.states).length * Object.keys(machine.events).length;
    expect(report.pairs.size).toBe(size);
    expect(report.checks).toBeGreaterThan(size * 10);
  });

  it('claims, sweeps and heals exactly the runs whose time has come', async () => {
    const taken = await selectors(subjectOf(entry));
    expect(taken.findings).toEqual([]);
    expect(taken.applied).toBeGreaterThan(10);
    expect(taken.checks).toBeGreaterThan(taken.applied);
    process.stdout.write(
      `${entry.machine.id}: ${report.checks} checks by ids, ${report.arrows.size} arrows, ` +
        `${taken.checks} by selectors\n`,
    );
  });
});
