// Random lives of one reset against the fake Neon: what the provider answers, what operations go
// through, and owners that are lost in between. The row ends as the fake's truth, or as unknown.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FakeNeon, openFakeNeon, ownError } from '../../support/fake-neon.ts';
import { useOpened } from '../../support/opened.ts';
import {
  ask,
  ended,
  forceRun,
  lapse,
  operating,
  providerOf,
  settle,
} from '../../support/operations.ts';
import { seedOfRun } from '../../support/properties.ts';

const database = useOpened();
const seed = seedOfRun('operation scripts');
const lives = Number(process.env['LIVES'] ?? 6);

const refusals = [
  { status: 423, body: ownError('locked') },
  { status: 429, headers: { 'retry-after': '5' } },
  { status: 503, body: ownError('busy') },
] as const;
const troubles = [
  'cut',
  { status: 500 },
  { status: 200, body: '<html>' },
  { status: 404, body: ownError('gone') },
] as const;

const life = fc.record({
  refusals: fc.array(fc.constantFrom(...refusals), { maxLength: 3 }),
  call: fc.constantFrom('answered', 'lost', 'cut', 'garbled'),
  words: fc.array(fc.constantFrom('scheduling', 'running', 'failed', 'pondering'), {
    maxLength: 4,
  }),
  last: fc.constantFrom('finished', 'skipped', 'error', 'cancelled'),
  readiness: fc.constantFrom('with', 'before', 'after'),
  polls: fc.array(fc.constantFrom(...troubles), { maxLength: 3 }),
  // A refusal for good of the first question, for the mark, would end it before it is issued.
  looks: fc.array(fc.constantFrom(...troubles.slice(0, 3)), { maxLength: 2 }),
  /** At which pauses the lease is over, so that the other worker takes the run. */
  lapses: fc.uniqueArray(fc.nat(8), { maxLength: 3 }),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

function prepare(fake: FakeNeon, given: Life): void {
  fake.addBranch('main');
  fake.addBranch('dev', 'main');
  fake.script = [...given.words, given.last];
  fake.readiness = given.readiness;
  for (const each of given.refusals) fake.rule('restore', each);
  if (given.call === 'lost' || given.call === 'cut') fake.rule('restore', given.call);
  if (given.call === 'garbled') fake.rule('restore', { status: 200, body: '{"operations":7}' });
  for (const each of given.polls) fake.rule('operation', each);
  for (const each of given.looks) fake.rule('operations', each);
}

/** What there is to be known, by what the fake did. */
function wantedOf({ call, last }: Life): string {
  if (call === 'cut' || call === 'garbled') return 'unknown';
  return ['finished', 'skipped'].includes(last) ? 'ok' : 'failed';
}

async function live(given: Life): Promise<void> {
  const fake = await openFakeNeon();
  try {
    prepare(fake, given);
    const provider = providerOf(fake);
    const id = await ask(database(), provider);
    let pauses = 0;
    const onPause = async () => {
      pauses += 1;
      if (given.lapses.includes(pauses)) await forceRun(database(), id, lapse);
      if (pauses > 12) await forceRun(database(), id, settle);
    };
    const workers = await operating(database(), provider, { onPause, pollMs: 20 });
    const row = await ended(workers, database(), id);
    await workers.runs.stop(0);
    expect(row.outcome).toBe(wantedOf(given));
    expect(fake.issued().length).toBeLessThanOrEqual(1);
    const posts = fake.journal.filter(({ kind }) => kind === 'restore');
    expect(posts).toHaveLength(given.refusals.length + 1);
  } finally {
    await fake.close();
  }
}

describe('an operation', () => {
  it('ends as the truth, or as unknown, whatever its life is like', async () => {
    await fc.assert(fc.asyncProperty(life, live), { seed, numRuns: lives, endOnFailure: true });
  });
});
