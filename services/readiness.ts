// Whether this process can do what it is asked: what /readyz says, and why a request failed.
//
// - It asks the database at most once a second, however often it is asked itself.

import type { Database } from '../persistence/database.ts';
import { answers, saysAway } from '../persistence/ping.ts';

export type ReadyState = 'starting' | 'ready' | 'database_away' | 'stopping';

export interface Readiness {
  /** Without waiting: `ready` says nothing about the database. */
  readonly phase: 'starting' | 'ready' | 'stopping';
  state(): Promise<ReadyState>;
  /** Whether an error is the database's absence. */
  isAway(error: unknown): Promise<boolean>;
  /** The start is over. */
  begin(database: Database): void;
}

const freshMs = 1000;
const patienceMs = 2000;

export function openReadiness(stopping: AbortSignal): Readiness {
  let opened: Database | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asked: Promise<boolean> = Promise.resolve(false);

  function databaseAnswers(): Promise<boolean> {
    if (!opened) return Promise.resolve(false);
    if (performance.now() - askedAt < freshMs) return asked;
    askedAt = performance.now();
    asked = answers(opened, patienceMs);
    return asked;
  }

  return {
    get phase() {
      if (stopping.aborted) return 'stopping';
      return opened ? 'ready' : 'starting';
    },
    async state() {
      const { phase } = this;
      if (phase !== 'ready') return phase;
      return (await databaseAnswers()) ? 'ready' : 'database_away';
    },
    async isAway(error) {
      return saysAway(error) || (opened !== undefined && !(await databaseAnswers()));
    },
    begin(database) {
      opened = database;
    },
  };
}
