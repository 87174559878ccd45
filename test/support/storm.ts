// A storm: many connections send every event of a machine to the same few runs in random order, by
// ids, by claims and by sweeps, for a while. Afterwards every run's journal is one unbroken chain,
// holds exactly what callers were told, and no fence had two ends. Nothing may have deadlocked.

import { isLeased } from '../../machines/arrows.ts';
import { transaction } from '../../persistence/transaction.ts';
import { bear } from './births.ts';
import { claimLoosely, type LooseOutcome, sendLoosely, sweepLoosely } from './loose-door.ts';
import type { Values } from './machines.ts';
import { isSilent } from './raw-arrows.ts';
import { fieldSamples } from './samples.ts';
import { type JournalRow, journalOf, makeOlder, read, type Subject } from './staging.ts';

export interface StormReport {
  readonly findings: readonly string[];
  readonly transitions: number;
  readonly runs: number;
  readonly calls: Readonly<Record<string, number>>;
}

export interface StormOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly runs: number;
}

interface Weather {
  readonly subject: Subject;
  /** The runs that take part; one that comes to its end is replaced. */
  readonly current: string[];
  readonly everBorn: Set<string>;
  /** The newest fence that anybody was told, for each run. */
  readonly fences: Map<string, number>;
  /** Transitions that callers were told of, for each run. */
  readonly told: Map<string, number>;
  readonly calls: Record<string, number>;
  readonly findings: string[];
}

const chosen = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;

/** Some of the runs, in an order that no other caller has. */
function some(ids: readonly string[]): string[] {
  const count = 1 + Math.floor(Math.random() * ids.length);
  return [...new Set(Array.from({ length: count }, () => chosen(ids)))];
}

function hear(weather: Weather, event: string, id: string, row: Values | undefined): void {
  const { machine } = weather.subject.entry;
  const fence = Number(row?.[machine.fence] ?? 0);
  weather.fences.set(id, Math.max(fence, weather.fences.get(id) ?? 0));
  if (!isSilent(machine, event)) weather.told.set(id, (weather.told.get(id) ?? 0) + 1);
}

async function call(weather: Weather, event: string): Promise<void> {
  const { subject, current, fences } = weather;
  const { machine } = subject.entry;
  const by = machine.events[event]?.by;
  const fields = chosen(fieldSamples(subject.entry, event));
  const onRetry = (error: unknown) => weather.findings.push(`tried again: ${String(error)}`);
  const limit = 1 + Math.floor(Math.random() * 5);
  if (by === 'claim' && Math.random() < 0.5) {
    const claimed = await transaction(
      subject.door,
      (tx) => claimLoosely(tx, machine, event, { ...fields, limit }),
      { onRetry },
    );
    for (const row of claimed) hear(weather, event, String(row['id']), row);
    return;
  }
  const rows = some(current).map((id) => ({
    ...fields,
    id,
    ...(by === 'owner' ? { fence: fences.get(id) ?? 0 } : { actor: 'storm' }),
  }));
  const work = by === 'sweep' && Math.random() < 0.5 ? 'sweep' : 'ids';
  const outcomes: readonly LooseOutcome[] = await transaction(
    subject.door,
    (tx) =>
      work === 'sweep'
        ? sweepLoosely(tx, machine, event, limit)
        : sendLoosely(tx, machine, event, rows),
    { onRetry },
  );
  for (const outcome of outcomes) {
    weather.calls[outcome.outcome] = (weather.calls[outcome.outcome] ?? 0) + 1;
    if (outcome.outcome === 'applied') hear(weather, event, outcome.id, outcome.after);
    // Status, fence and guards were judged on the locked row, so what is refused has a reason.
    if (outcome.outcome === 'refused' && outcome.because?.length === 0) {
      weather.findings.push(`${event} was refused for no reason`);
    }
    // Somebody else's fence is used from here on, as a thief would: it must do no harm.
    if (outcome.outcome === 'lost') fences.set(outcome.id, outcome.fence ?? 0);
  }
}

/** Replaces the runs that have come to their end. */
async function replaceEnded(weather: Weather): Promise<void> {
  const { subject, current } = weather;
  const { machine, births } = subject.entry;
  const rows = await read(subject, current);
  const ended = current.flatMap((id, place) => {
    const isOver = machine.states[String(rows.get(id)?.['status'])]?.type === 'final';
    return isOver ? [place] : [];
  });
  const born = await bear(
    subject,
    ended.map(() => chosen(births)),
  );
  for (const [i, place] of ended.entries()) {
    const id = born[i] ?? '';
    weather.everBorn.add(id);
    current[place] = id;
  }
}

async function blow(weather: Weather, until: number, isKeeper: boolean): Promise<void> {
  const events = Object.keys(weather.subject.entry.machine.events);
  while (performance.now() < until) {
    try {
      // Leases lapse and waits end because runs grow older, not because anybody sleeps.
      if (Math.random() < 0.2) await makeOlder(weather.subject, chosen(weather.current));
      else await call(weather, chosen(events));
      if (isKeeper) await replaceEnded(weather);
    } catch (error) {
      weather.findings.push(String(error));
    }
  }
}

function chainFindings(
  { machine }: Subject['entry'],
  chain: readonly JournalRow[],
  row: Values,
  told: number,
): readonly string[] {
  const broken = chain.filter((each, i) => {
    const before = chain[i - 1];
    const from = before ? before.to_status : machine.initial;
    return each.from_status !== from || each.seq <= (before?.seq ?? 0);
  });
  const leased = (status: string) => isLeased(machine, status);
  const ends = chain.filter((each) => leased(each.from_status) && !leased(each.to_status));
  const twice = ends.length - new Set(ends.map(({ fence }) => fence)).size;
  const last = chain.at(-1)?.to_status ?? machine.initial;
  return [
    ...broken.map((each) => `the chain breaks at ${JSON.stringify(each)}`),
    ...(twice === 0 ? [] : [`${twice} fences had two ends`]),
    ...(last === row['status'] ? [] : [`the journal ends in ${last}, the run is ${row['status']}`]),
    ...(chain.length === told ? [] : [`callers heard of ${told}, the journal of ${chain.length}`]),
  ];
}

export async function storm(subject: Subject, options: StormOptions): Promise<StormReport> {
  const births = Array.from({ length: options.runs }, () => chosen(subject.entry.births));
  const current = await bear(subject, births);
  const weather: Weather = {
    subject,
    current,
    everBorn: new Set(current),
    fences: new Map(),
    told: new Map(),
    calls: {},
    findings: [],
  };
  const until = performance.now() + options.seconds * 1000;
  await Promise.all(
    Array.from({ length: options.connections }, (_, i) => blow(weather, until, i === 0)),
  );
  const ids = [...weather.everBorn];
  const journals = await journalOf(subject, ids);
  const rows = await read(subject, ids);
  const findings = ids.flatMap((id) => {
    const told = weather.told.get(id) ?? 0;
    return chainFindings(subject.entry, journals.get(id) ?? [], rows.get(id) ?? {}, told);
  });
  return {
    findings: [...weather.findings, ...findings],
    transitions: [...weather.told.values()].reduce((sum, count) => sum + count, 0),
    runs: ids.length,
    calls: weather.calls,
  };
}
