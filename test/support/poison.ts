// Rows that cannot be moved, among rows that can: a value that Postgres cannot store, a counter at
// its end, a run that its claim would leave with the old fence. Each is answered for itself; what
// came in the same call lands, and the answers keep the callers' order.

import { sql } from 'kysely';
import { kindOfDeclared } from '../../machines/kind-of.ts';
import { transaction } from '../../persistence/transaction.ts';
import { type Case, fieldsOfEvent, sendAndJudge } from './edges.ts';
import { claimLoosely, sendLoosely, sweepLoosely } from './loose-door.ts';
import type { Values } from './machines.ts';
import { reachable } from './reachable.ts';
import { eventSamples, fieldsOf } from './samples.ts';
import { clockOf, read, type StagedRow, type Subject, stage, staged } from './staging.ts';

export interface PoisonReport {
  readonly findings: readonly string[];
  readonly checks: number;
  readonly poisoned: number;
}

const largestInt = 2_147_483_647;
const bad: Readonly<Record<string, unknown>> = {
  int: 2 ** 31,
  text: 'a\u0000b',
  bool: 'yes',
  instant: Number.NaN,
  uuid: 'no uuid',
  json: { reason: '\ud800' },
};

/** A state in which memory takes the event, and the event. */
function applicable(subject: Subject, event: string) {
  const samples = eventSamples(subject.entry).filter(({ type }) => type === event);
  for (const { snapshot } of reachable(subject.entry)) {
    const sample = samples.find((each) => snapshot.can(each));
    if (sample) return { snapshot, sample };
  }
  throw new Error(`no reachable state of ${subject.entry.machine.id} takes ${event}`);
}

/** Twelve runs that the event moves; every third is made poison. */
async function runsFor(subject: Subject, event: string, poisoned: (row: StagedRow) => Values) {
  const { snapshot, sample } = applicable(subject, event);
  const memory = { status: String(snapshot.value), row: snapshot.context, at: sample.at };
  const clock = await clockOf(subject.observer);
  const rows = Array.from({ length: 12 }, (_, i): StagedRow => {
    const row = staged(subject.entry, memory, clock);
    return i % 3 === 1 ? { ...row, ...poisoned(row) } : row;
  });
  return { rows, sample };
}

const fenceOf = ({ entry }: Subject, row: Values) => Number(row[entry.machine.fence]);

/** A transition that cannot be counted any more: the database refuses the row. */
async function spent(subject: Subject, event: string): Promise<readonly string[]> {
  const { rows, sample } = await runsFor(subject, event, () => ({ seq: largestInt }));
  const cases = rows.map(
    (row): Case => ({
      row,
      isStaged: true,
      event,
      fields: fieldsOfEvent(sample),
      fence: fenceOf(subject, row),
    }),
  );
  const judged = await sendAndJudge(subject, cases);
  const outcomes = judged.map(({ sent }) => sent.outcome.outcome).join(' ');
  const wanted = rows.map((_, i) => (i % 3 === 1 ? 'invalid' : 'applied')).join(' ');
  return [
    ...judged.flatMap(({ findings }) => findings),
    ...(outcomes === wanted ? [] : [`${event}: ${outcomes}`]),
  ];
}

/** A value that must not reach the database: the door refuses the row. */
async function unstorable(subject: Subject, event: string): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const owned = machine.events[event]?.by === 'owner';
  const faulty = [
    ...fieldsOf(subject.entry, event).map(([name, declared]) => [
      name,
      bad[kindOfDeclared(declared)],
    ]),
    ['id', 'no uuid'],
    owned ? ['fence', 1.5] : ['actor', 'a\u0000b'],
  ] as const;
  const { rows, sample } = await runsFor(subject, event, () => ({}));
  await stage(subject, rows);
  const sent = rows.map((row, i) => {
    const credential = owned ? { fence: fenceOf(subject, row) } : { actor: 'somebody' };
    const [name, value] = faulty[i] ?? [];
    const good = { ...fieldsOfEvent(sample), ...credential, id: row.id };
    return name === undefined ? good : { ...good, [String(name)]: value };
  });
  const outcomes = await transaction(subject.door, (tx) =>
    sendLoosely(tx, machine, event, sent as readonly (Values & { readonly id: string })[]),
  );
  const after = await read(
    subject,
    rows.map(({ id }) => id),
  );
  return rows.flatMap(({ id }, i) => {
    const [wrong] = faulty[i] ?? [];
    const outcome = outcomes[i];
    const isRight = wrong
      ? outcome?.outcome === 'invalid' && outcome.where === wrong
      : outcome?.outcome === 'applied' && outcome.id === id;
    const moved = after.get(id)?.['seq'] === 1;
    if (isRight && moved === (wrong === undefined)) return [];
    return [`${event}: row ${i}, wrong in ${wrong}: ${JSON.stringify(outcome)}, moved ${moved}`];
  });
}

/**
 * Poison among what a claim or a sweep picks: it is set aside, and the next one does not meet it.
 */
async function picked(subject: Subject, event: string): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const isClaim = machine.events[event]?.by === 'claim';
  const poisoned = () => (isClaim ? { [machine.fence]: largestInt } : { seq: largestInt });
  const { rows, sample } = await runsFor(subject, event, poisoned);
  await stage(subject, rows, 'alone');
  const take = async () => {
    const fields = fieldsOfEvent(sample);
    const taken = await transaction(subject.door, async (tx) =>
      isClaim
        ? (await claimLoosely(tx, machine, event, { ...fields, limit: 100 })).map((r) => r['id'])
        : (await sweepLoosely(tx, machine, event, 100)).map(({ id }) => id),
    );
    return taken.map(String).sort().join(' ');
  };
  const good = rows.filter((_, i) => i % 3 !== 1).map(({ id }) => id);
  const poison = rows.filter((_, i) => i % 3 === 1).map(({ id }) => id);
  const first = await take();
  const [another = rows[0]] = (await runsFor(subject, event, () => ({}))).rows;
  await stage(subject, another ? [another] : []);
  const second = await take();
  const { rows: aside } = await sql<{ run: string }>`
    select run from fencepost.quarantine where machine = ${machine.id}
      and run = any(${rows.map(({ id }) => id)}::uuid[])`.execute(subject.observer.db);
  const isFree = poison.every((id) => !first.includes(id) && !second.includes(id));
  return [
    ...(first === good.toSorted().join(' ') ? [] : [`${event} took ${first}`]),
    ...(isFree ? [] : [`${event} took poison`]),
    ...(second.includes(another?.id ?? 'none') ? [] : [`${event} then took ${second}`]),
    ...(aside.length === poison.length ? [] : [`${event}: ${aside.length} were set aside`]),
  ];
}

/** Sends poison among good rows, for every event. */
export async function poison(subject: Subject): Promise<PoisonReport> {
  const { machine } = subject.entry;
  const findings: string[] = [];
  let checks = 0;
  for (const [event, { by }] of Object.entries(machine.events)) {
    findings.push(...(await spent(subject, event)), ...(await unstorable(subject, event)));
    checks += 2;
    if (by !== 'claim' && by !== 'sweep') continue;
    findings.push(...(await picked(subject, event)));
    checks += 1;
  }
  return { findings, checks: checks * 12, poisoned: checks * 4 };
}
