// The database holds the machine against whoever writes: what is not declared is refused, with a
// reason that a person at a psql prompt can read.

import { describe, expect, it } from 'vitest';
import { declaredArrows } from '../support/declared.ts';
import { namedEvents, type RawReport, rawPairs } from '../support/raw-arrows.ts';
import { rawJournal } from '../support/raw-journal.ts';
import { brokenRules } from '../support/raw-rules.ts';
import { eachMachine, useSubjects } from '../support/subject.ts';

const subjectOf = useSubjects();

describe.each(eachMachine)('%s', (name, { machine, ...rest }) => {
  const entry = { machine, ...rest };
  const statuses = Object.keys(machine.states).length;
  const events = Object.keys(machine.events).length;
  const finals = Object.values(machine.states).filter(({ type }) => type === 'final').length;
  const distinct = (parts: (arrow: readonly string[]) => readonly unknown[]) =>
    new Set(declaredArrows(machine).map((arrow) => parts(arrow.split(' ')).join(' ')));
  const said = (what: string, { attempts, refused }: RawReport) =>
    process.stdout.write(`${name}: ${attempts} ${what}, ${refused} refused\n`);

  it('refuses a raw move between statuses unless it is declared', async () => {
    const report = await rawPairs(subjectOf(entry));
    expect(report.findings).toEqual([]);
    expect(report.attempts).toBe(statuses * (statuses + 1));
    const moves = [...distinct(([from, , , to]) => [from, to])].filter((move) => {
      const [from, to] = move.split(' ');
      return from !== to;
    });
    expect(report.attempts - report.refused).toBe(moves.length + statuses - finals);
    said('pairs', report);
  });

  it('refuses a named event unless it leads from that status to the other', async () => {
    const report = await namedEvents(subjectOf(entry));
    expect(report.findings).toEqual([]);
    expect(report.attempts).toBe(statuses * (events + 1) * (statuses + 1));
    const arrows = distinct(([from, event, , to]) => [from, event, to]);
    expect(report.attempts - report.refused).toBe(arrows.size);
    said('named moves', report);
  });

  it('refuses what breaks a rule, by its name', async () => {
    const report = await brokenRules(subjectOf(entry));
    expect(report.findings).toEqual([]);
    const frozen = statuses * (machine.frozen.length + 1);
    expect(report.refused).toBeGreaterThan(frozen + statuses * 4);
    said('writes against rules', report);
  });

  it('keeps the journal as it is, names outsiders, and lets it go with its run', async () => {
    const report = await rawJournal(subjectOf(entry));
    expect(report.findings).toEqual([]);
    expect(report.attempts).toBe(8);
  });
});
