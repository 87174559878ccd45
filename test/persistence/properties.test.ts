// Random runs and events, in SQL beside memory. A failure prints the seed that repeats it.

import { describe, expect, it } from 'vitest';
import { backoffs } from '../support/backoffs.ts';
import { poison } from '../support/poison.ts';
import { properties, seedOfRun } from '../support/properties.ts';
import { eachMachine, useSubjects } from '../support/subject.ts';

const subjectOf = useSubjects();
const seed = seedOfRun('properties');

// The drafts are there to prove that the suites are general; the outbox is what must not be wrong.
const most = { batches: 270, pairs: 20_000 };
const some = { batches: 50, pairs: 2500 };

describe.each(eachMachine)('%s', (name, entry) => {
  it('does to random runs what it does in memory', async () => {
    const size = name === 'outbox' ? most : some;
    const options = { seed, batches: size.batches, shrink: true };
    const { findings, pairs, outcomes } = await properties(subjectOf(entry), options);
    process.stdout.write(`${name}: ${pairs} pairs, ${JSON.stringify(outcomes)}\n`);
    expect(findings).toEqual([]);
    expect(pairs).toBeGreaterThan(size.pairs);
    expect(outcomes['applied']).toBeGreaterThan(pairs / 10);
    for (const outcome of ['missing', 'lost', 'refused', 'invalid']) {
      expect(outcomes[outcome]).toBeGreaterThan(0);
    }
  });

  it('backs off by a finite time within the cap, for every counter', async () => {
    const { findings, checks } = await backoffs(subjectOf(entry), seed);
    expect(findings).toEqual([]);
    expect(checks).toBeGreaterThan(6000);
  });

  it('answers a poison row for itself and lands the others, in order', async () => {
    const { findings, checks, poisoned } = await poison(subjectOf(entry));
    expect(findings).toEqual([]);
    expect(poisoned).toBeGreaterThan(10);
    expect(checks).toBeGreaterThan(poisoned * 2);
  });
});
