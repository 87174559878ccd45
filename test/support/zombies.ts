// Owners that were thought dead and are not: every event of an owner that was replaced is lost, is
// recorded, and changes nothing. An owner whose lease ran out, but whom nobody replaced, may
// finish.

import { isDeepStrictEqual } from 'node:util';
import { arrowsBy, dueColumn } from '../../machines/arrows.ts';
import type { MomentEvent } from '../../machines/in-memory.ts';
import type { Sender } from '../../machines/status-machine.ts';
import { transaction } from '../../persistence/transaction.ts';
import { fieldsOfEvent, sendJudged } from './edges.ts';
import type { Snapshot } from './graph.ts';
import { snapshotOf } from './judge.ts';
import { claimLoosely, sendOneLoosely } from './loose-door.ts';
import type { Values } from './machines.ts';
import { reachable } from './reachable.ts';
import { eventSamples, fieldSamples } from './samples.ts';
import {
  clockOf,
  lostWrites,
  makeOlder,
  read,
  type StagedRow,
  type Subject,
  stage,
  staged,
} from './staging.ts';

export interface ZombieReport {
  readonly findings: readonly string[];
  readonly lost: number;
  readonly finished: number;
  /** In how many ways owners were replaced. */
  readonly successions: number;
}

const hourMs = 3_600_000;

const eventsBy = ({ entry: { machine } }: Subject, sender: Sender) =>
  Object.keys(machine.events).filter((event) => machine.events[event]?.by === sender);

async function rowOf(subject: Subject, id: string): Promise<Values> {
  return (await read(subject, [id])).get(id) ?? {};
}

/** Leases that outlast the test, in place of the sampled ones. */
const lasting = (fields: Values): Values =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value === 5000 ? hourMs : value]),
  );

/** Claims one run for an owner, if the machine lets it be claimed. */
async function claimBy(subject: Subject, id: string, owner: string): Promise<Values | undefined> {
  const { machine } = subject.entry;
  for (const event of eventsBy(subject, 'claim')) {
    const fields = { ...lasting(fieldSamples(subject.entry, event, 'one')[0] ?? {}), owner };
    const [claimed] = await transaction(subject.door, (tx) =>
      claimLoosely(tx, machine, event, { ...fields, limit: 1, where: { id } }),
    );
    if (claimed) return claimed;
  }
  return undefined;
}

/** A place from which a run can be claimed, and each leased place that is reachable. */
function placesOf(subject: Subject) {
  const places = reachable(subject.entry).map(({ snapshot }) => snapshot);
  const samples = eventSamples(subject.entry);
  const claims = samples.filter(({ type }) => eventsBy(subject, 'claim').includes(type));
  const free = places.filter((each) => !each.hasTag('leased'));
  const claimable = free.flatMap((snapshot) => {
    const claim = claims.find((sample) => snapshot.can(sample));
    return claim ? [{ snapshot, at: claim.at }] : [];
  });
  return { claimable, leased: places.filter((each) => each.hasTag('leased')) };
}

/** A run that its first owner has claimed and that is a day older: its lease has lapsed. */
async function lapsedRun(subject: Subject, from: { snapshot: Snapshot; at: number }) {
  const { snapshot, at } = from;
  const memory = { status: String(snapshot.value), row: snapshot.context, at };
  const row = staged(subject.entry, memory, await clockOf(subject.observer));
  await stage(subject, [row]);
  const claimed = await claimBy(subject, row.id, 'first');
  if (!claimed) return undefined;
  await makeOlder(subject, row.id);
  return { id: row.id, fence: Number(claimed[subject.entry.machine.fence]) };
}

/** How an owner can be replaced: by a sweep, by a claim after it, or by a claim at once. */
const successions = {
  async sweep(subject: Subject, id: string): Promise<boolean> {
    const { machine } = subject.entry;
    for (const event of eventsBy(subject, 'sweep')) {
      const row = { id, actor: 'reaper' };
      const { outcome } = await transaction(subject.door, (tx) =>
        sendOneLoosely(tx, machine, event, row),
      );
      if (outcome === 'applied') return true;
    }
    return false;
  },
  async successor(subject: Subject, id: string): Promise<boolean> {
    const swept = await successions.sweep(subject, id);
    const waits = eventsBy(subject, 'claim').flatMap((event) =>
      arrowsBy(subject.entry.machine, event).map(dueColumn),
    );
    if (waits.some((column) => column !== undefined)) await makeOlder(subject, id);
    return swept && (await claimBy(subject, id, 'second')) !== undefined;
  },
  async takeover(subject: Subject, id: string): Promise<boolean> {
    return (await claimBy(subject, id, 'second')) !== undefined;
  },
};

/** Every owner's event, from the first owner. */
async function late(subject: Subject, zombie: { readonly id: string; readonly fence: number }) {
  const findings: string[] = [];
  const events = eventsBy(subject, 'owner');
  for (const [i, event] of events.entries()) {
    const before = await rowOf(subject, zombie.id);
    const [fields = {}] = fieldSamples(subject.entry, event);
    const row = { id: zombie.id, status: '' };
    const sent = { row, isStaged: true, event, fields, fence: zombie.fence };
    const [judged] = await sendJudged(subject, [sent]);
    findings.push(...(judged?.findings ?? []));
    const { outcome } = judged?.sent.outcome ?? {};
    if (outcome !== 'lost') findings.push(`${event} of a replaced owner is ${outcome}`);
    if (!isDeepStrictEqual(before, await rowOf(subject, zombie.id))) {
      findings.push(`${event} of a replaced owner changed the run`);
    }
    const recorded = await lostWrites(subject, [zombie.id]);
    if (recorded !== i + 1) findings.push(`${recorded} of ${i + 1} late writes were recorded`);
  }
  return { findings, lost: events.length };
}

/** What an owner can still do in a leased state after its lease has run out. */
async function finishing(subject: Subject, leased: readonly Snapshot[]) {
  const findings: string[] = [];
  const owners = eventsBy(subject, 'owner');
  const samples = eventSamples(subject.entry).filter(({ type }) => owners.includes(type));
  let finished = 0;
  for (const type of owners) {
    const possible = leased.flatMap((snapshot): { row: Snapshot; sample: MomentEvent }[] => {
      const sample = samples.find((each) => each.type === type && snapshot.can(each));
      return sample ? [{ row: snapshot, sample }] : [];
    });
    const [first] = possible;
    if (!first) continue;
    const { row: snapshot, sample } = first;
    const memory = { status: String(snapshot.value), row: snapshot.context, at: sample.at };
    const row: StagedRow = staged(subject.entry, memory, await clockOf(subject.observer));
    await stage(subject, [row]);
    await makeOlder(subject, row.id);
    const fence = Number(row[subject.entry.machine.fence]);
    const fields = fieldsOfEvent(sample);
    const sent = { row, isStaged: true, event: type, fields, fence };
    const [judged] = await sendJudged(subject, [sent]);
    findings.push(...(judged?.findings ?? []));
    if (judged?.sent.outcome.outcome === 'applied') finished += 1;
    else findings.push(`${type} of a lapsed owner is ${judged?.sent.outcome.outcome}`);
  }
  return { findings, finished };
}

export async function zombies(subject: Subject): Promise<ZombieReport> {
  const { claimable, leased } = placesOf(subject);
  const findings: string[] = [];
  let [lost, replaced] = [0, 0];
  for (const succeed of Object.values(successions)) {
    for (const from of claimable.slice(0, 2)) {
      const zombie = await lapsedRun(subject, from);
      if (!zombie) {
        findings.push(`nobody could claim ${JSON.stringify(from.snapshot.context)}`);
        continue;
      }
      if (!(await succeed(subject, zombie.id))) continue;
      const successor = snapshotOf(subject.entry.machine, await rowOf(subject, zombie.id));
      const isNewer = Number(successor.context[subject.entry.machine.fence]) > zombie.fence;
      if (successor.hasTag('leased') && !isNewer) findings.push('two owners have one fence');
      const report = await late(subject, zombie);
      findings.push(...report.findings);
      lost += report.lost;
      replaced += 1;
    }
  }
  const { findings: more, finished } = await finishing(subject, leased);
  return { findings: [...findings, ...more], lost, finished, successions: replaced };
}
