// A machine's transitions as events that a client can come back to: each has an id, and a stream
// goes on after the id that the client saw last.
//
// - An id is a place in the stream of persistence/transitions.ts. One that is not is refused, and
//   never taken for the beginning.
// - Without an id a stream begins with the present.
// - Following is looking again after a pause: each stream costs one indexed query a second.

import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import {
  presentPlace,
  readTransitions,
  type StreamPlace,
  type Transition,
} from '../../persistence/transitions.ts';

export interface TransitionEvent extends Omit<Transition, 'place'> {
  readonly id: string;
}

export interface EventPage {
  readonly events: readonly TransitionEvent[];
  /** What to read on after, also where there were no events. */
  readonly next: string;
}

const mostEvents = 500;
const usualPauseMs = 1000;
const largestInt = 2_147_483_647;

const idOf = ({ xact, run, seq }: StreamPlace): string => `${xact}.${run}.${seq}`;

/** The place that an id means; undefined if it is none of ours. */
function placeOf(id: string): StreamPlace | undefined {
  const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
  const [, xact, run, digits] =
    new RegExp(`^(\\d{1,19})\\.(${uuid})\\.(\\d{1,10})$`).exec(id) ?? [];
  const seq = Number(digits);
  if (xact === undefined || run === undefined || seq > largestInt) return undefined;
  return { xact, run, seq };
}

/** The id of the present: what a stream begins after. */
export const presentEvent = async (database: Database): Promise<string> =>
  idOf(await presentPlace(database.db));

/**
 * Reads the events after one, in order, a bounded number of them.
 * @returns undefined when `after` is no id of an event.
 */
export async function eventsAfter(
  database: Database,
  machine: Machine,
  after: string,
  limit = mostEvents,
): Promise<EventPage | undefined> {
  const place = placeOf(after);
  if (!place) return undefined;
  const page = await readTransitions(database.db, machine, { after: place, limit });
  return {
    events: page.transitions.map(({ place: own, ...entry }) => ({ id: idOf(own), ...entry })),
    next: idOf(page.next),
  };
}

interface Following {
  readonly after: string;
  /** Ends the stream when it is aborted. */
  readonly signal: AbortSignal;
  readonly pauseMs?: number;
}

async function* follow(database: Database, machine: Machine, following: Following) {
  const { signal, pauseMs = usualPauseMs } = following;
  let { after } = following;
  while (!signal.aborted) {
    const page = await eventsAfter(database, machine, after);
    if (!page) return;
    yield* page.events;
    after = page.next;
    // Aborted while it waits: the loop ends.
    if (page.events.length === 0)
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Follows the events after one, as they come, until the signal is aborted.
 * @returns undefined when `after` is no id of an event.
 */
export const followEvents = (
  database: Database,
  machine: Machine,
  following: Following,
): AsyncGenerator<TransitionEvent> | undefined =>
  placeOf(following.after) && follow(database, machine, following);
