// Random walks: no edit is lost, no version is overwritten without a choice, and every session
// comes home when all is well again. A seed that failed is run again with SEED=<n>.

import { describe, expect, it } from 'vitest';
import { seedOfRun } from '../support/properties.ts';
import { sessionMutants } from '../support/session-mutants.ts';
import { walkOf } from '../support/session-walks.ts';

const stepsOfWalk = 100;

describe('10,000 random steps', () => {
  it('lose no edit and overwrite no version in silence', async () => {
    const seed = seedOfRun('document sessions');
    let [steps, faults, walks] = [0, 0, 0];
    const statuses = new Set<string>();
    for (; steps < 10_000; walks += 1) {
      const walk = await walkOf({ seed: seed + walks, steps: stepsOfWalk });
      const story = `SEED=${seed + walks}: ${walk.steps.join(', ')}`;
      expect({ findings: walk.findings, ...(walk.findings.length > 0 && { story }) }).toEqual({
        findings: [],
      });
      steps += walk.steps.length;
      faults += walk.faults;
      for (const status of walk.statuses) statuses.add(status);
    }
    process.stdout.write(`${walks} walks, ${steps} steps, ${faults} faults, 0 violations\n`);
    expect(faults).toBeGreaterThan(500);
    // All but those that the walks cannot bring about: nobody deletes, forbids or types rubbish.
    expect([...statuses].toSorted()).toEqual([
      ...['conflict', 'dirty', 'loading', 'offline', 'saved', 'saving', 'settling'],
      ...['signed-out', 'unconfirmed'],
    ]);
  });
});

describe('the history checker', () => {
  it('has a mutant for each of the eight bugs', () => {
    expect(sessionMutants).toHaveLength(8);
  });

  it.each(sessionMutants)('sees a session in which $name', async ({ parts }) => {
    const most = 300;
    let found: readonly string[] = [];
    for (let seed = 1; seed <= most && found.length === 0; seed += 1) {
      ({ findings: found } = await walkOf({ seed, steps: stepsOfWalk, parts }));
    }
    expect(found).not.toEqual([]);
  });
});
