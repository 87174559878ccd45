// What a machine brings to the crash sweep: one scenario file, `<machine>.ts`, beside this one.
//
// To add one: write `<machine>.child.ts`, the program that is killed (swept-child.ts has what such
// a program is made of), and `<machine>.ts`, which exports a `Scenario`; add it to all.ts. Then
// `npm run crash-sweep -- <machine>` walks it, and test/scripts/crash-sweep.test.ts takes a sample.
//
// - The child does the work of the service by the service's own code. What is around it and
//   survives (receivers, above all) lives in the process of the sweep, which can say what it saw.
// - A scenario is short: each of its messages is tried two or three times, each with a new process.
//   What a child does has an end that it can tell by itself, also after it lost a connection.
// - Invariants are what the docs promise of every run, judged on rows, journal, receipts and what
//   the outside saw; never what a particular point is expected to lead to.
// - Known bugs, which the child has under the name of a mutant, prove that the invariants see.
//   Undisturbed, a mutant keeps every promise.

import type { Database } from '../../../persistence/database.ts';

export interface Scenario {
  readonly machine: string;
  /** What happens in it, in a line for the reader of the table. */
  readonly story: string;
  /** The file that is started, killed and started again. */
  readonly child: string;
  /** Bugs that the child can be started with. The sweep must notice each. */
  readonly mutants: readonly string[];
  /**
   * Writes what the child will find in this new database, and opens what outlives it. For a mutant
   * that the database itself would refuse, it takes away what does.
   */
  prepare(database: Database, mutant?: string): Promise<Stage>;
}

export interface Stage {
  /** Arguments of the child, behind the address of the database. */
  readonly args: readonly string[];
  /** What the next process would do, with rows made older where it would wait. */
  recover(): Promise<void>;
  /** What is not as it was promised, a sentence each. */
  invariants(): Promise<readonly string[]>;
  /** Also called when `recover` failed, or did not end. */
  close(): Promise<void>;
}
