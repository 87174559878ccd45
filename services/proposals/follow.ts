// What happens to one plan as a stream that a client can come back to: each event has the run's
// `seq`, and a stream goes on behind the one that the client saw last.
//
// - A step's end comes with its receipt, which was committed with it. That it was opened is not
//   told: nobody could see that before its end.
// - A run's transitions are committed in the order of their `seq`, so nothing is passed over.
// - Steps that this process carries out are told at once; of other processes' it looks after a
//   pause.
// - The last event is `ended`. It comes again to who comes back behind the last transition.

import { setTimeout as delay } from 'node:timers/promises';
import { isFinal } from '../../machines/arrows.ts';
import { proposal } from '../../machines/proposal.ts';
import type { Database } from '../../persistence/database.ts';
import { type JournalEntry, readJournal } from '../../persistence/journal.ts';
import { readProposal, readReceipts } from '../../persistence/proposals.ts';
import type { Executor } from './executor.ts';
import { type ShownReceipt, shownReceipt } from './show.ts';

export type PlanEvent =
  | { readonly event: 'transition'; readonly seq: number; readonly entry: JournalEntry }
  | { readonly event: 'step'; readonly seq: number; readonly receipt: ShownReceipt }
  | {
      readonly event: 'ended';
      readonly seq: number;
      readonly status: string;
      readonly reason: string | null;
    };

export interface FollowOptions {
  readonly database: Database;
  readonly executor: Pick<Executor, 'watch'>;
  readonly pauseMs: number;
}

interface Following {
  readonly id: string;
  /** The `seq` behind which it begins; 0 for the whole story. */
  readonly after: number;
  readonly signal: AbortSignal;
}

const closesStep = ({ event }: JournalEntry) => event === 'step.ok' || event === 'step.failed';

/** Where a stream is: the last transition that was told, and the step whose end comes next. */
interface Place {
  seq: number;
  step: number;
}

async function* eventsBehind(database: Database, id: string, place: Place) {
  const entries = await readJournal(database.db, proposal, id, { after: place.seq });
  // Read after the journal: each step of it has its receipt.
  const receipts = entries.some(closesStep) ? await readReceipts(database.db, id, place.step) : [];
  for (const entry of entries) {
    const { seq } = entry;
    const receipt = closesStep(entry) && receipts.find(({ index }) => index === place.step);
    if (receipt) {
      place.step += 1;
      yield { event: 'step', seq, receipt: shownReceipt(receipt) } satisfies PlanEvent;
    } else if (entry.event !== 'step.open') {
      yield { event: 'transition', seq, entry } satisfies PlanEvent;
    }
    place.seq = seq;
  }
}

async function beginning(database: Database, id: string, after: number): Promise<Place> {
  if (after === 0) return { seq: 0, step: 0 };
  const before = await readJournal(database.db, proposal, id);
  const step = before.filter((entry) => entry.seq <= after && closesStep(entry)).length;
  return { seq: after, step };
}

/** Follows a plan that is there, until its end or until the signal is aborted. */
export async function* followPlan(
  { database, executor, pauseMs }: FollowOptions,
  { id, after, signal }: Following,
): AsyncGenerator<PlanEvent> {
  const place = await beginning(database, id, after);
  while (!signal.aborted) {
    const rest = new AbortController();
    const wake = () => rest.abort();
    signal.addEventListener('abort', wake);
    // Before it looks: what happens while it does is not missed.
    const stop = executor.watch((changed) => changed === id && wake());
    try {
      const before = place.seq;
      // The row first: what it says has happened is in the journal that is read after it.
      const row = await readProposal(database.db, id);
      if (!row) return;
      yield* eventsBehind(database, id, place);
      if (isFinal(proposal, row.status)) {
        yield { event: 'ended', seq: row.seq, status: row.status, reason: row.reason };
        return;
      }
      if (place.seq > before) continue;
      await delay(pauseMs, undefined, { signal: rest.signal }).catch(() => undefined);
    } finally {
      stop();
      signal.removeEventListener('abort', wake);
    }
  }
}
