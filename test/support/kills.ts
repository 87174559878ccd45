// The generated suites in small, by name, as `mutants.test.ts` calls them on a changed kernel.

import { claimBesideHolder, clockAfterLock, parallelClaims, rolledBack } from './contention.ts';
import { edges } from './edges.ts';
import { histories } from './histories.ts';
import { properties } from './properties.ts';
import { races } from './races.ts';
import { namedEvents, rawPairs } from './raw-arrows.ts';
import { rawJournal } from './raw-journal.ts';
import { brokenRules } from './raw-rules.ts';
import { selectors } from './selectors.ts';
import type { Subject } from './staging.ts';
import { storm } from './storm.ts';
import { zombies } from './zombies.ts';

type Suite = (subject: Subject, seed: number) => Promise<readonly string[]>;

const findingsOf = async (report: Promise<{ readonly findings: readonly string[] }>) =>
  (await report).findings;

/** Suites that see what the kernel sends, the cheapest first. */
const ofTheDoor: Readonly<Record<string, Suite>> = {
  zombies: (subject) => findingsOf(zombies(subject)),
  'rolled back': (subject) => rolledBack(subject),
  'beside a holder': (subject) => claimBesideHolder(subject),
  'behind a holder': (subject) => clockAfterLock(subject),
  'parallel claims': (subject) => parallelClaims(subject),
  races: (subject) => findingsOf(races(subject, 10)),
  selectors: (subject) => findingsOf(selectors(subject)),
  edges: (subject) => findingsOf(edges(subject)),
  histories: (subject) => findingsOf(histories(subject)),
  properties: (subject, seed) =>
    findingsOf(properties(subject, { seed, batches: 8, shrink: false })),
  storm: (subject) => findingsOf(storm(subject, { seconds: 3, connections: 16, runs: 20 })),
};

/** Suites that see what the database holds against everybody. */
const ofTheDatabase: Readonly<Record<string, Suite>> = {
  'raw pairs': (subject) => findingsOf(rawPairs(subject)),
  'raw events': (subject) => findingsOf(namedEvents(subject)),
  'raw rules': (subject) => findingsOf(brokenRules(subject)),
  'raw journal': (subject) => findingsOf(rawJournal(subject)),
};

/** All suites, those first that are likely to notice: a mutant is dead with the first that does. */
export const suitesFor = (
  change: 'statements' | 'database',
): readonly (readonly [string, Suite])[] =>
  Object.entries(
    change === 'statements'
      ? { ...ofTheDoor, ...ofTheDatabase }
      : { ...ofTheDatabase, ...ofTheDoor },
  );

/** What a suite says of the kernel; an exception that nobody expected says something too. */
export async function findings(suite: Suite, subject: Subject, seed: number) {
  try {
    return await suite(subject, seed);
  } catch (error) {
    return [`threw ${error instanceof Error ? error.message : String(error)}`];
  }
}
