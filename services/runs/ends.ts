// Writes how runs ended: one event for many runs in one transaction, and what is to be said of each
// answer. holds.ts calls it, one call at a time for a run.
//
// - A late end changes nothing and is an answer, not an error: somebody else has the run.
// - When the answer to COMMIT was lost, the write is sent again. `lost` under our own fence, in a
//   status to which the event leads, then says that the first one had taken effect.
// - What cannot be stored is replaced by what can: first by the work's plainer end, then by what a
//   throw means. It must never be why an effect is repeated without end.

import type { Logger } from 'pino';
import { arrowsBy } from '../../machines/arrows.ts';
import type { EventsBy, Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { type EventRow, sendMany } from '../../persistence/door.ts';
import type { Outcome } from '../../persistence/outcome.ts';
import { transaction } from '../../persistence/transaction.ts';
import type { Observe } from './events.ts';
import { type Hold, namesOf } from './hold.ts';
import type { AnyEnd, Beside, End } from './work.ts';

export interface EndsOptions<M extends Machine> {
  readonly database: Database;
  readonly machine: M;
  readonly log: Logger;
  readonly observe: Observe;
}

/** What the door takes for an owner's event. */
interface EndRow {
  readonly id: string;
  readonly fence: number;
  readonly [field: string]: unknown;
}

const eventOf = (hold: { readonly end: AnyEnd | undefined } | undefined): string =>
  hold?.end?.event ?? '';

/** The end is answered and over, or it has another end that is to be written. */
type Concluded = 'over' | 'replaced';

export function endWriter<M extends Machine>(options: EndsOptions<M>) {
  const { database, machine, log, observe } = options;
  let lostWrites = 0;

  const targets = (event: string) => arrowsBy(machine, event).map(({ to }) => to);

  /** Sends one event to many runs, and writes what belongs beside it. */
  async function write(
    event: string,
    rows: readonly EndRow[],
    besides: readonly Beside[] = [],
  ): Promise<readonly Outcome<M>[]> {
    const once = [...new Map(besides.map((beside) => [beside.key, beside])).values()];
    const inOrder = once.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    return await transaction(database, async (tx) => {
      const outcomes = await sendMany<M, EventsBy<M, 'owner'>>(
        tx,
        machine,
        event as EventsBy<M, 'owner'>,
        rows as readonly unknown[] as readonly EventRow<M, EventsBy<M, 'owner'>>[],
      );
      for (const beside of inOrder) await beside.write(tx);
      return outcomes;
    });
  }

  /** Writes ends of one event. @returns the holds that have another end, which is to be written. */
  async function writeEnds(holds: readonly Hold<M>[]): Promise<readonly Hold<M>[]> {
    const event = eventOf(holds[0]);
    const rows: EndRow[] = [];
    const besides: Beside[] = [];
    for (const { id, fence, end } of holds) {
      rows.push({ id, fence, ...end?.fields });
      if (end?.beside) besides.push(end.beside);
    }
    return conclude(event, holds, await write(event, rows, besides));
  }

  /** Gives an end that cannot be stored another one. */
  function replace(hold: Hold<M>, outcome: Outcome<M>): Concluded {
    const { work, end } = hold;
    hold.replaced += 1;
    const plainer = hold.replaced === 1 ? work.plainer?.(end as End<M>) : undefined;
    if (!plainer && hold.replaced > 2) return 'over';
    const why = new Error(`its end cannot be stored: ${JSON.stringify(outcome)}`);
    hold.end = (plainer ?? work.onThrow(why)) as AnyEnd;
    return 'replaced';
  }

  function tookEffect(hold: Hold<M>, outcome: Outcome<M>): boolean {
    if (outcome.outcome !== 'lost' || !hold.again) return false;
    return outcome.fence === hold.fence && targets(eventOf(hold)).includes(outcome.status);
  }

  function concludeOne(hold: Hold<M>, outcome: Outcome<M>): Concluded {
    const { id: run, end, work } = hold;
    const event = eventOf(hold);
    const known = tookEffect(hold, outcome) ? 'applied' : outcome.outcome;
    const by = work.name;
    observe({ type: 'ended', machine: machine.id, by, run, event, outcome: known });
    switch (outcome.outcome) {
      case 'applied':
        work.onEnded?.(hold, end as End<M>, outcome);
        return 'over';
      case 'lost':
        if (known === 'lost') observe({ type: 'lost', machine: machine.id, by, run, event });
        return 'over';
      case 'invalid':
        return replace(hold, outcome);
      case 'missing':
      case 'refused':
        return 'over';
      default:
        return outcome satisfies never;
    }
  }

  /** Concludes a batch: a line of the log for each kind of answer that is not the usual one. */
  function conclude(event: string, holds: readonly Hold<M>[], outcomes: readonly Outcome<M>[]) {
    const unusual = new Map<string, { readonly id: string; readonly outcome: Outcome<M> }[]>();
    const replaced: Hold<M>[] = [];
    for (const [i, hold] of holds.entries()) {
      const outcome = outcomes[i];
      if (!outcome) continue;
      const isUsual = outcome.outcome === 'applied' || tookEffect(hold, outcome);
      if (concludeOne(hold, outcome) === 'replaced') replaced.push(hold);
      if (isUsual) continue;
      const seen = unusual.get(outcome.outcome) ?? [];
      seen.push({ id: hold.id, outcome });
      unusual.set(outcome.outcome, seen);
    }
    for (const [kind, seen] of unusual) {
      const about = { event, count: seen.length, runs: namesOf(seen), first: seen[0]?.outcome };
      if (kind === 'lost') {
        lostWrites += seen.length;
        log.warn({ ...about, lostWrites }, 'too late, changed nothing');
      } else log.error(about, `an end was ${kind}`);
    }
    return replaced;
  }

  return { write, writeEnds };
}
