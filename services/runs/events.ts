// What happens in the runs of a process, for whoever wants to know: metrics, and tests, which wait
// for these events instead of for time.

import type { Machine } from '../../machines/status-machine.ts';
import type { Outcome } from '../../persistence/outcome.ts';

interface About {
  readonly machine: string;
  /** The worker's name, or `reaper` or `writer`. */
  readonly by: string;
}

type Happening =
  | { readonly type: 'claimed'; readonly count: number }
  | { readonly type: 'started'; readonly run: string }
  /** A handler has ended, or thrown. */
  | { readonly type: 'handled'; readonly run: string; readonly ms: number }
  /** An end was answered by the database. */
  | {
      readonly type: 'ended';
      readonly run: string;
      readonly event: string;
      readonly outcome: Outcome<Machine>['outcome'];
    }
  /** Leases were renewed. */
  | { readonly type: 'renewed'; readonly count: number }
  /** A renewal, or an end, came too late: somebody else has the run. */
  | { readonly type: 'lost'; readonly run: string; readonly event: string }
  /** An end was given up, or a run abandoned: its lease lapses. */
  | { readonly type: 'dropped'; readonly run: string }
  /** The reaper moved runs whose time had come. */
  | { readonly type: 'lapsed'; readonly event: string; readonly count: number }
  /** Nothing is due: it waits for a wake-up or for the poll. */
  | { readonly type: 'waiting' }
  /** Nothing is to be claimed for so long. */
  | { readonly type: 'paused'; readonly ms: number }
  /** The database did not answer; so many times in a row now. */
  | { readonly type: 'away'; readonly failures: number }
  | { readonly type: 'resumed' }
  /** A part failed by a mistake of ours, and is started again after a while. */
  | { readonly type: 'failed' }
  | { readonly type: 'draining' }
  | { readonly type: 'stopped' };

export type RunsEvent = About & Happening;

/** Called as things happen, between two runs: it must be quick, and must not throw. */
export type Observe = (event: RunsEvent) => void;
