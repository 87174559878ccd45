// A claimed run in this process's hands: one object from the claim to the answer to its end. There
// may be tens of thousands a second, so nothing else is made for a run on its way.

import type { Machine } from '../../machines/status-machine.ts';
import type { AnyEnd, Work } from './work.ts';

export interface Hold<M extends Machine> {
  readonly id: string;
  readonly fence: number;
  readonly work: Work<M>;
  /** `ended`: it has an end, which may not be written yet. `dropped`: its lease will lapse. */
  state: 'held' | 'ended' | 'lost' | 'dropped';
  /** By this process's monotonic clock. */
  expiresAt: number;
  /** Its time limit has passed. */
  overdue: boolean;
  /** While it is handled. */
  handling: { abort(reason: Error): void } | undefined;
  end: AnyEnd | undefined;
  /** How many of its ends could not be stored. */
  replaced: number;
  /** Its end was sent before, and no answer came. */
  again: boolean;
}

/** Runs that are named in a line of the log, at most. */
const mostNamed = 10;

export const namesOf = (holds: readonly { readonly id: string }[]): readonly string[] =>
  holds.slice(0, mostNamed).map(({ id }) => id);
