// One check per reachable state and event, by ids: the run is put into exactly that state, the
// event is sent through the door, and outcome and row are judged by memory. Shortest or simple
// paths walk half of the arrows and never send what must be refused; against wrong stores this
// caught the most.

import { randomUUID } from 'node:crypto';
import type { MomentEvent } from '../../machines/in-memory.ts';
import { transaction } from '../../persistence/transaction.ts';
import { arrowTaken, judge, type Sent } from './judge.ts';
import { sendLoosely } from './loose-door.ts';
import type { Values } from './machines.ts';
import { reachable } from './reachable.ts';
import { eventSamples, somebody } from './samples.ts';
import { clockOf, read, type StagedRow, type Subject, stage, staged } from './staging.ts';

export interface EdgeReport {
  readonly findings: readonly string[];
  readonly checks: number;
  /** Which pairs of status and event were checked, and which arrows were taken. */
  readonly pairs: ReadonlySet<string>;
  readonly arrows: ReadonlySet<string>;
}

/** One event for one run. A run that is not staged is missing. */
export interface Case {
  readonly row: StagedRow;
  readonly isStaged: boolean;
  readonly event: string;
  readonly fields: Values;
  readonly fence: number;
}

const batch = 500;
/** Who sends what is no owner's, unless the event's fields say otherwise. */
export const actor = somebody;

/** The fields of an event in memory, without its moment. */
export function fieldsOfEvent({ type, at, dice, ...fields }: MomentEvent): Values {
  return fields;
}

export interface Judged {
  readonly sent: Sent;
  readonly findings: readonly string[];
}

/** Sends an event to runs in one call, and judges each. All cases are of one event. */
export async function sendJudged(
  subject: Subject,
  cases: readonly Case[],
): Promise<readonly Judged[]> {
  const { machine } = subject.entry;
  const [{ event } = { event: '' }] = cases;
  const ids = cases.map(({ row }) => row.id);
  const owned = machine.events[event]?.by === 'owner';
  const before = await read(subject, ids);
  const start = await clockOf(subject.observer);
  const rows = cases.map(({ row, fields, fence }) => ({
    ...(owned ? { fence } : { actor }),
    ...fields,
    id: row.id,
  }));
  const outcomes = await transaction(subject.door, (tx) => sendLoosely(tx, machine, event, rows));
  const end = await clockOf(subject.observer);
  const after = await read(subject, ids);
  return cases.map(({ row: { id }, fields, fence }, i) => {
    const sent: Sent = {
      event,
      fields,
      fence: owned ? fence : undefined,
      actor: String(fields['actor'] ?? actor),
      before: before.get(id),
      after: after.get(id),
      outcome: outcomes[i] ?? { outcome: 'missing', id: 'nothing was answered' },
      between: [start, end],
    };
    return { sent, findings: judge(machine, sent) };
  });
}

/** The same, for runs that are staged first. */
export async function sendAndJudge(
  subject: Subject,
  cases: readonly Case[],
): Promise<readonly Judged[]> {
  const rows = cases.filter(({ isStaged }) => isStaged).map(({ row }) => row);
  await stage(subject, rows);
  return sendJudged(subject, cases);
}

function casesOf(subject: Subject, event: string, clock: number): readonly Case[] {
  const { entry } = subject;
  const { machine } = entry;
  const samples = eventSamples(entry).filter(({ type }) => type === event);
  const cases = reachable(entry).flatMap(({ snapshot }) =>
    samples.flatMap((sample, turn) => {
      const memory = { status: String(snapshot.value), row: snapshot.context, at: sample.at };
      const fields = fieldsOfEvent(sample);
      const held = Number(snapshot.context[machine.fence]);
      // A stale owner and one from the future, once a state.
      const fences =
        machine.events[event]?.by === 'owner' && turn === 0 ? [held, held - 1, held + 1] : [held];
      return fences.map((fence) => {
        const row = staged(entry, memory, clock);
        return { row, isStaged: true, event, fields, fence };
      });
    }),
  );
  const [first] = cases;
  if (!first) return [];
  const missing = { ...first, row: { ...first.row, id: randomUUID() }, isStaged: false };
  return [...cases, missing];
}

/** Checks every reachable state with every event by ids. */
export async function edges(subject: Subject): Promise<EdgeReport> {
  const { machine } = subject.entry;
  const findings: string[] = [];
  const pairs = new Set<string>();
  const arrows = new Set<string>();
  let checks = 0;
  for (const event of Object.keys(machine.events)) {
    const cases = casesOf(subject, event, await clockOf(subject.observer));
    for (let i = 0; i < cases.length; i += batch) {
      const judged = await sendAndJudge(subject, cases.slice(i, i + batch));
      for (const { sent, findings: found } of judged) {
        checks += 1;
        findings.push(...found);
        if (sent.before) pairs.add(`${sent.before['status']} ${event}`);
        if (sent.before && sent.outcome.outcome === 'applied') {
          const moment = { at: sent.outcome.at ?? 0, dice: sent.outcome.dice ?? 0 };
          const taken = { actor, ...sent.fields, type: event, ...moment };
          arrows.add(arrowTaken(machine, sent.before, taken) ?? `none by ${event}`);
        }
      }
    }
  }
  return { findings, checks, pairs, arrows };
}
