// Owners that come back after they were replaced, and owners that were merely late.

import { describe, expect, it } from 'vitest';
import { eachMachine, useSubjects } from '../support/subject.ts';
import { zombies } from '../support/zombies.ts';

const subjectOf = useSubjects();

describe.each(eachMachine)('%s', (name, entry) => {
  it('loses every write of a replaced owner, and lets a late one finish', async () => {
    const report = await zombies(subjectOf(entry));
    expect(report.findings).toEqual([]);
    const events = Object.values(entry.machine.events).filter(({ by }) => by === 'owner').length;
    expect(report.finished).toBe(events);
    expect(report.successions).toBeGreaterThan(1);
    expect(report.lost).toBe(report.successions * events);
    process.stdout.write(`${name}: ${report.successions} successions, ${report.lost} lost\n`);
  });
});
