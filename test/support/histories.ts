// Whole histories: every simple path through the machine, replayed on one run from its birth to the
// path's end. Each step is judged by memory, and the journal must tell the path.

import { isDeepStrictEqual } from 'node:util';
import { transition } from 'xstate';
import { inMemory, type MomentEvent } from '../../machines/in-memory.ts';
import { bear } from './births.ts';
import { actor, type Case, fieldsOfEvent, sendJudged } from './edges.ts';
import { paths } from './graph.ts';
import { arrowTaken } from './judge.ts';
import type { MachineEntry, Values } from './machines.ts';
import { isSilent } from './raw-arrows.ts';
import { bornRow, reachable, stopOf } from './reachable.ts';
import {
  alter,
  clockOf,
  instantsOf,
  type JournalRow,
  journalOf,
  type Subject,
  staged,
} from './staging.ts';

export interface HistoryReport {
  readonly findings: readonly string[];
  readonly histories: number;
  readonly steps: number;
  readonly arrows: ReadonlySet<string>;
}

interface Step {
  readonly event: MomentEvent;
  /** The run in memory, before the event and after it. */
  readonly before: Values;
  readonly after: Values;
}

interface History {
  readonly birth: Values;
  readonly steps: readonly Step[];
}

/**
 * One event for each arrow: enough to go everywhere, few enough that the paths can be
 * counted. A path goes through no state twice, so an event that changes nothing is on none.
 */
function oneEventAnArrow(entry: MachineEntry): readonly MomentEvent[] {
  const events = new Map<string, MomentEvent>();
  for (const { snapshot, sent } of reachable(entry)) {
    for (const { event, next } of sent) {
      const row = { ...snapshot.context, status: snapshot.value };
      const arrow = arrowTaken(entry.machine, row, event);
      if (!arrow || events.has(arrow)) continue;
      if (!isDeepStrictEqual({ ...next.context, status: next.value }, row))
        events.set(arrow, event);
    }
  }
  return [...new Set(events.values())];
}

function historiesOf(entry: MachineEntry): readonly History[] {
  const events = oneEventAnArrow(entry);
  return entry.births.flatMap((birth) => {
    const logic = inMemory(entry.machine, bornRow(entry, birth));
    return paths(logic, { events, stopWhen: stopOf(entry) }).map((path) => {
      let snapshot = logic.resolveState({
        value: entry.machine.initial,
        context: bornRow(entry, birth),
      });
      const steps = path.map((event): Step => {
        const before = { ...snapshot.context, status: snapshot.value };
        [snapshot] = transition(logic, snapshot, event);
        return { event, before, after: { ...snapshot.context, status: snapshot.value } };
      });
      return { birth, steps };
    });
  });
}

/** Before each step the run is made as old as it is in memory when the event comes. */
async function age(subject: Subject, steps: readonly (readonly [string, Step])[]): Promise<void> {
  const clock = await clockOf(subject.observer);
  const instants = instantsOf(subject.entry.machine);
  const rows = steps.map(([id, { before, event }]) => {
    const row = Object.fromEntries(instants.map((name) => [name, before[name]]));
    return { ...staged(subject.entry, { status: '', row, at: event.at }, clock), id };
  });
  await alter(subject, rows);
}

async function journalFindings(
  subject: Subject,
  all: readonly History[],
  ids: readonly string[],
): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const journals = await journalOf(subject, ids);
  return all.flatMap(({ steps }, i) => {
    const run = ids[i] ?? '';
    const wanted = steps.flatMap(({ event, before, after }, place): JournalRow[] => {
      if (isSilent(machine, event.type)) return [];
      const sender = event['actor'] ?? actor;
      const by = machine.events[event.type]?.by === 'owner' ? before[machine.owner] : sender;
      return [
        {
          run,
          seq: place + 1,
          event: event.type,
          actor: String(by),
          from_status: String(before['status']),
          to_status: String(after['status']),
          fence: Number(after[machine.fence]),
        },
      ];
    });
    const found = journals.get(run);
    if (isDeepStrictEqual(found, wanted)) return [];
    return [`journal ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
  });
}

/** The next step of each run, sent in one call for each event. */
async function stepAll(subject: Subject, steps: readonly (readonly [string, Step])[]) {
  const { machine } = subject.entry;
  const findings: string[] = [];
  await age(subject, steps);
  for (const type of new Set(steps.map(([, { event }]) => event.type))) {
    const cases = steps
      .filter(([, { event }]) => event.type === type)
      .map(([id, { before, event }]): Case => {
        const fence = Number(before[machine.fence]);
        const row = { id, status: String(before['status']) };
        return { row, isStaged: true, event: type, fields: fieldsOfEvent(event), fence };
      });
    for (const { sent, findings: found } of await sendJudged(subject, cases)) {
      findings.push(...found);
      if (sent.outcome.outcome !== 'applied') findings.push(`${type}: ${sent.outcome.outcome}`);
    }
  }
  return findings;
}

export async function histories(subject: Subject): Promise<HistoryReport> {
  const { entry } = subject;
  const all = historiesOf(entry);
  const births = all.map(({ birth }) => birth);
  const ids = await bear(subject, births);
  const findings: string[] = [];
  const steps = all.flatMap((history) => history.steps);
  for (let depth = 0; all.some((history) => history.steps.length > depth); depth += 1) {
    const next = all.flatMap((history, i): (readonly [string, Step])[] => {
      const step = history.steps[depth];
      return step ? [[ids[i] ?? '', step]] : [];
    });
    findings.push(...(await stepAll(subject, next)));
  }
  findings.push(...(await journalFindings(subject, all, ids)));
  const taken = steps.map(({ before, event }) => arrowTaken(entry.machine, before, event) ?? '');
  return { findings, histories: all.length, steps: steps.length, arrows: new Set(taken) };
}
