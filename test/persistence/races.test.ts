// Many callers at once: one of them wins, nobody waits who must not, and the journal is a chain.

import { describe, expect, it } from 'vitest';
import {
  claimBesideHolder,
  clockAfterLock,
  parallelClaims,
  rolledBack,
} from '../support/contention.ts';
import { racedArrows, races } from '../support/races.ts';
import { storm } from '../support/storm.ts';
import { eachMachine, useSubjects } from '../support/subject.ts';

const subjectOf = useSubjects(20);

describe.each(eachMachine)('%s', (name, entry) => {
  it('lets exactly one of twenty racers take an arrow that can be taken once', async () => {
    const subject = subjectOf(entry);
    const report = await races(subject, 20);
    expect(report.findings).toEqual([]);
    expect(report.arrows.size).toBe(racedArrows(subject));
    process.stdout.write(`${name}: ${report.races} races for ${report.arrows.size} arrows\n`);
  });

  it('never gives one run to two of ten claims at once', async () => {
    expect(await parallelClaims(subjectOf(entry))).toEqual([]);
  });

  it('claims at once what is free while somebody holds a run that is due', async () => {
    expect(await claimBesideHolder(subjectOf(entry))).toEqual([]);
  });

  it('reads the clock after it has waited for the run', async () => {
    expect(await clockAfterLock(subjectOf(entry))).toEqual([]);
  });

  it('leaves no trace of a transition that was rolled back', async () => {
    expect(await rolledBack(subjectOf(entry))).toEqual([]);
  });

  it('keeps every chain whole and deadlocks nowhere in a storm of all events', async () => {
    const seconds = name === 'outbox' ? 10 : 3;
    const report = await storm(subjectOf(entry), { seconds, connections: 16, runs: 20 });
    expect(report.findings).toEqual([]);
    expect(report.transitions).toBeGreaterThan(100);
    process.stdout.write(
      `${name}: ${report.transitions} transitions of ${report.runs} runs in ${seconds} s, ` +
        `${JSON.stringify(report.calls)}\n`,
    );
  });
});
