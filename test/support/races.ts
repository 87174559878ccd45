// Many callers, one run: of those that send what only one of them can do, exactly one does.

import { arrowsOf } from '../../machines/arrows.ts';
import type { MomentEvent } from '../../machines/in-memory.ts';
import { transaction } from '../../persistence/transaction.ts';
import { actor, fieldsOfEvent } from './edges.ts';
import type { Snapshot } from './graph.ts';
import { arrowTaken } from './judge.ts';
import { claimLoosely, sendOneLoosely, sweepLoosely } from './loose-door.ts';
import { reachable } from './reachable.ts';
import { clockOf, journalOf, type StagedRow, type Subject, stage, staged } from './staging.ts';

export interface RaceReport {
  readonly findings: readonly string[];
  readonly races: number;
  readonly arrows: ReadonlySet<string>;
}

export interface Race {
  readonly arrow: string;
  readonly snapshot: Snapshot;
  readonly event: MomentEvent;
}

const hourMs = 3_600_000;

/** Leases and waits that outlast the race, in place of the sampled ones. */
const lasting = (event: MomentEvent): MomentEvent =>
  Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, value === 5000 ? hourMs : value]),
  ) as MomentEvent;

/**
 * For each arrow that leaves its status or raises the fence: a state from which it is taken once.
 */
export function racesOf({ entry }: Subject): readonly Race[] {
  const { machine } = entry;
  const races = new Map<string, Race>();
  for (const { snapshot, sent } of reachable(entry)) {
    const row = { ...snapshot.context, status: snapshot.value };
    for (const { event, next } of sent) {
      const arrow = arrowTaken(machine, row, event);
      if (!arrow || races.has(arrow) || next.can({ ...event, at: event.at + 1000 })) continue;
      const raises = next.context[machine.fence] !== snapshot.context[machine.fence];
      if (next.value === snapshot.value && !raises) continue;
      races.set(arrow, { arrow, snapshot, event: lasting(event) });
    }
  }
  return [...races.values()];
}

/** The arrows that must be raced, from the declaration alone. */
export const racedArrows = ({ entry: { machine } }: Subject): number =>
  arrowsOf(machine).filter(({ from, event, to }) => {
    return from !== to || machine.events[event]?.by === 'claim';
  }).length;

export async function stageFor(subject: Subject, { snapshot, event }: Race): Promise<StagedRow> {
  const memory = { status: String(snapshot.value), row: snapshot.context, at: event.at };
  const row = staged(subject.entry, memory, await clockOf(subject.observer));
  await stage(subject, [row], 'alone');
  return row;
}

export const times = <T>(count: number, work: () => Promise<T>): Promise<readonly T[]> =>
  Promise.all(Array.from({ length: count }, work));

async function raceById(subject: Subject, race: Race, racers: number) {
  const { machine } = subject.entry;
  const row = await stageFor(subject, race);
  const { type } = race.event;
  const owned = machine.events[type]?.by === 'owner';
  const credentials = owned ? { fence: Number(row[machine.fence]) } : { actor };
  const sent = { ...credentials, ...fieldsOfEvent(race.event), id: row.id };
  const outcomes = await times(racers, () =>
    transaction(subject.door, (tx) => sendOneLoosely(tx, machine, type, sent)),
  );
  const losing = owned ? 'lost' : 'refused';
  return wrongRace(subject, race, row, {
    applied: outcomes.filter(({ outcome }) => outcome === 'applied').length,
    others: outcomes.filter(({ outcome }) => outcome === losing).length,
    racers,
  });
}

async function raceBySelector(subject: Subject, race: Race, racers: number) {
  const { machine } = subject.entry;
  const row = await stageFor(subject, race);
  const { type } = race.event;
  const options = { ...fieldsOfEvent(race.event), limit: 10 };
  const isClaim = machine.events[type]?.by === 'claim';
  const taken = await times(racers, () =>
    transaction(subject.door, async (tx) => {
      if (isClaim) return (await claimLoosely(tx, machine, type, options)).length;
      return (await sweepLoosely(tx, machine, type, 10)).length;
    }),
  );
  return wrongRace(subject, race, row, {
    applied: taken.filter((count) => count === 1).length,
    others: taken.filter((count) => count === 0).length,
    racers,
  });
}

async function wrongRace(
  subject: Subject,
  { arrow }: Race,
  row: StagedRow,
  { applied, others, racers }: Readonly<Record<'applied' | 'others' | 'racers', number>>,
): Promise<readonly string[]> {
  const journal = (await journalOf(subject, [row.id])).get(row.id) ?? [];
  const isRight = applied === 1 && others === racers - 1 && journal.length === 1;
  const said = `${applied} applied, ${others} did not, ${journal.length} in the journal`;
  return isRight ? [] : [`${subject.entry.machine.id}: ${arrow}: of ${racers} racers ${said}`];
}

/** Races every such arrow by ids, and claims and sweeps by their selectors too. */
export async function races(subject: Subject, racers: number): Promise<RaceReport> {
  const { machine } = subject.entry;
  const findings: string[] = [];
  const all = racesOf(subject);
  let count = 0;
  for (const race of all) {
    const by = machine.events[race.event.type]?.by;
    findings.push(...(await raceById(subject, race, racers)));
    count += 1;
    if (by !== 'claim' && by !== 'sweep') continue;
    findings.push(...(await raceBySelector(subject, race, racers)));
    count += 1;
  }
  return { findings, races: count, arrows: new Set(all.map(({ arrow }) => arrow)) };
}
