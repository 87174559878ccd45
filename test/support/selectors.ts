// The edges once more, by the selectors that find their runs themselves: claim, sweep and heal. All
// reachable states lie in the table at once; exactly those whose time has come may be taken.

import { isDeepStrictEqual } from 'node:util';
import { dueColumn } from '../../machines/arrows.ts';
import { evaluate } from '../../machines/evaluate.ts';
import type { MomentEvent } from '../../machines/in-memory.ts';
import type { Machine, Sender } from '../../machines/status-machine.ts';
import { sweeper } from '../../persistence/claims.ts';
import { transaction } from '../../persistence/transaction.ts';
import { fieldsOfEvent } from './edges.ts';
import { judge, snapshotOf } from './judge.ts';
import { claimLoosely, healLoosely, type LooseOutcome, sweepLoosely } from './loose-door.ts';
import { moments, type Values } from './machines.ts';
import { reachable } from './reachable.ts';
import { eventSamples } from './samples.ts';
import { clockOf, read, type StagedRow, type Subject, stage, staged } from './staging.ts';

export interface SelectorReport {
  readonly findings: readonly string[];
  readonly checks: number;
  readonly applied: number;
}

const most = 10_000;

const eventsBy = (machine: Machine, sender: Sender) =>
  Object.keys(machine.events).filter((event) => machine.events[event]?.by === sender);

/** All reachable states as runs, seen from one moment, alone in the table. */
async function stageAll(subject: Subject, at: number): Promise<readonly StagedRow[]> {
  const clock = await clockOf(subject.observer);
  const rows = reachable(subject.entry).map(({ snapshot }) =>
    staged(subject.entry, { status: String(snapshot.value), row: snapshot.context, at }, clock),
  );
  await stage(subject, rows, 'alone');
  return rows;
}

/** A claim does not say when it was, but the lease that it wrote does. It throws no dice. */
function claimedOutcome(machine: Machine, event: string, claimed: Values, fields: Values) {
  const nodes = Object.values(machine.states)
    .flatMap((state) => [state.on?.[event] ?? []].flat())
    .map(({ actions }) => actions?.params[machine.lease]);
  const lease = nodes[0] ?? { clock: true };
  const offset = Number(evaluate(lease, { row: {}, fields, at: 0, dice: 0 }));
  const at = Number(claimed[machine.lease]) - offset;
  return { outcome: 'applied', id: String(claimed['id']), after: claimed, at, dice: 0 } as const;
}

interface Taking {
  readonly event: string;
  readonly fields: Values;
  readonly actor: string;
  readonly take: () => Promise<readonly LooseOutcome[]>;
}

async function takeAndJudge(
  subject: Subject,
  rows: readonly StagedRow[],
  { event, fields, actor, take }: Taking,
): Promise<SelectorReport> {
  const { machine } = subject.entry;
  const ids = rows.map(({ id }) => id);
  const before = await read(subject, ids);
  const start = await clockOf(subject.observer);
  const taken = new Map((await take()).map((outcome) => [outcome.id, outcome]));
  const end = await clockOf(subject.observer);
  const after = await read(subject, ids);
  const findings = rows.flatMap(({ id }) => {
    const [was = {}, is = {}] = [before.get(id), after.get(id)];
    const outcome = taken.get(id);
    if (outcome) {
      const sent = { event, fields, actor, before: was, after: is, between: [start, end] as const };
      return judge(machine, { ...sent, outcome });
    }
    const moment: MomentEvent = { ...fields, type: event, at: start, dice: 0 };
    return [
      ...(snapshotOf(machine, was).can(moment) ? [`${event} passed by`] : []),
      ...(isDeepStrictEqual(was, is) ? [] : [`${event} changed in silence`]),
    ].map((finding) => `${machine.id}: ${finding} ${JSON.stringify(was)}`);
  });
  return { findings, checks: rows.length, applied: taken.size };
}

async function claims(subject: Subject, event: string): Promise<readonly SelectorReport[]> {
  const { machine } = subject.entry;
  const reports: SelectorReport[] = [];
  for (const sample of eventSamples(subject.entry).filter(({ type }) => type === event)) {
    const rows = await stageAll(subject, sample.at);
    const fields = fieldsOfEvent(sample);
    const take = () =>
      transaction(subject.door, async (tx) => {
        const claimed = await claimLoosely(tx, machine, event, { ...fields, limit: most });
        return claimed.map((row) => claimedOutcome(machine, event, row, fields));
      });
    const actor = String(fields['owner']);
    reports.push(await takeAndJudge(subject, rows, { event, fields, actor, take }));
  }
  return reports;
}

async function sweeps(subject: Subject, event: string): Promise<readonly SelectorReport[]> {
  const { machine } = subject.entry;
  const reports: SelectorReport[] = [];
  for (const at of [moments.early, moments.late]) {
    const rows = await stageAll(subject, at);
    const take = () => transaction(subject.door, (tx) => sweepLoosely(tx, machine, event, most));
    reports.push(await takeAndJudge(subject, rows, { event, fields: {}, actor: sweeper, take }));
  }
  return reports;
}

/** Heals each run by itself. Of several sweeps the first that is declared and due is taken. */
async function heals(subject: Subject): Promise<readonly SelectorReport[]> {
  const { machine } = subject.entry;
  const events = eventsBy(machine, 'sweep');
  const reports: SelectorReport[] = [];
  for (const at of [moments.early, moments.late]) {
    const rows = await stageAll(subject, at);
    const clock = await clockOf(subject.observer);
    const awaited = (row: StagedRow) =>
      events.find((type) => snapshotOf(machine, row).can({ type, at: clock, dice: 0 }));
    for (const event of [undefined, ...events]) {
      const chosen = rows.filter((row) => awaited(row) === event);
      const take = () =>
        transaction(subject.door, async (tx) => {
          const healed = [];
          for (const { id } of chosen) healed.push(await healLoosely(tx, machine, id));
          return healed.filter((outcome) => outcome !== undefined);
        });
      const taking = { event: event ?? 'none', fields: {}, actor: sweeper, take };
      reports.push(await takeAndJudge(subject, chosen, taking));
    }
  }
  return reports;
}

/** Due runs come first that were due first, and no more than asked for. */
async function order(subject: Subject, event: string): Promise<readonly SelectorReport[]> {
  const { machine } = subject.entry;
  const [sample] = eventSamples(subject.entry).filter(
    ({ type, at }) => type === event && at === moments.late,
  );
  const edges = Object.values(machine.states).flatMap((state) => [state.on?.[event] ?? []].flat());
  const [due] = edges.map(({ target, guard }) =>
    dueColumn({ from: '', event, to: target, guard: guard?.params ?? {}, set: {}, renewal: false }),
  );
  if (!due || !sample) return [];
  const rows = await stageAll(subject, sample.at);
  const moment = { ...sample, at: await clockOf(subject.observer) };
  const wanted = rows
    .filter((row) => snapshotOf(machine, row).can(moment))
    .map((row) => Number(row[due]))
    .sort((a, b) => a - b)
    .slice(0, 3);
  const claimed = await transaction(subject.door, (tx) =>
    claimLoosely(tx, machine, event, { ...fieldsOfEvent(sample), limit: 3 }),
  );
  const dues = new Map(rows.map((row) => [row.id, Number(row[due])]));
  const found = claimed.map((row) => dues.get(String(row['id'])));
  const same = JSON.stringify(found) === JSON.stringify(wanted);
  const finding = `${machine.id}: ${event} took ${found} for ${wanted}`;
  return [{ findings: same ? [] : [finding], checks: 1, applied: claimed.length }];
}

/** Checks every reachable state with claim, sweep and heal. */
export async function selectors(subject: Subject): Promise<SelectorReport> {
  const { machine } = subject.entry;
  const reports: SelectorReport[] = [];
  for (const event of eventsBy(machine, 'claim')) {
    reports.push(...(await claims(subject, event)), ...(await order(subject, event)));
  }
  for (const event of eventsBy(machine, 'sweep')) reports.push(...(await sweeps(subject, event)));
  reports.push(...(await heals(subject)));
  return {
    findings: reports.flatMap(({ findings }) => findings),
    checks: reports.reduce((sum, { checks }) => sum + checks, 0),
    applied: reports.reduce((sum, { applied }) => sum + applied, 0),
  };
}
