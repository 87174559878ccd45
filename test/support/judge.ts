// Says what had to come of an event, from the declaration read in memory and never from the door's
// code, and compares it with what came: the outcome and every column of the run.

import { isDeepStrictEqual } from 'node:util';
import { transition } from 'xstate';
import { isLeased } from '../../machines/arrows.ts';
import { evaluate } from '../../machines/evaluate.ts';
import { inMemory, type MomentEvent } from '../../machines/in-memory.ts';
import { isNullable } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { LooseOutcome } from './loose-door.ts';
import type { Values } from './machines.ts';

/** One event that was sent, with the whole row before and after it, read by other statements. */
export interface Sent {
  readonly event: string;
  readonly fields: Values;
  readonly fence?: number | undefined;
  readonly actor?: string | undefined;
  readonly before: Values | undefined;
  readonly after: Values | undefined;
  readonly outcome: LooseOutcome;
  /** The database's clock before and after the statement. */
  readonly between: readonly [number, number];
}

const largestInt = 2_147_483_647;

const logics = new WeakMap<Machine, ReturnType<typeof inMemory>>();

function logicOf(machine: Machine) {
  const logic = logics.get(machine) ?? inMemory(machine);
  logics.set(machine, logic);
  return logic;
}

export const columnsOf = (machine: Machine, row: Values): Values =>
  Object.fromEntries(Object.keys(machine.columns).map((name) => [name, row[name] ?? null]));

/** A row as a state of the machine in memory. */
export const snapshotOf = (machine: Machine, row: Values) =>
  logicOf(machine).resolveState({
    value: String(row['status']),
    context: columnsOf(machine, row),
  });

/** What memory makes of the row, or undefined where the machine refuses the event. */
export function replay(machine: Machine, row: Values, event: MomentEvent): Values | undefined {
  const snapshot = snapshotOf(machine, row);
  if (!snapshot.can(event)) return undefined;
  const [next] = transition(logicOf(machine), snapshot, event);
  return { ...next.context, status: next.value };
}

/** The arrow that memory takes, by its place among the branches of its status and event. */
export function arrowTaken(machine: Machine, row: Values, event: MomentEvent): string | undefined {
  const from = String(row['status']);
  const branches = [machine.states[from]?.on?.[event.type] ?? []].flat();
  const place = branches.findIndex(({ guard }) =>
    Object.values(guard?.params ?? {}).every((node) => holds(node, row, event)),
  );
  const to = branches[place]?.target;
  return to && `${from} ${event.type} ${place} ${to}`;
}

const holds = (node: Parameters<typeof evaluate>[0], row: Values, event: MomentEvent) =>
  evaluate(node, {
    row,
    fields: event,
    at: event.at,
    dice: event.dice,
    actor: event['actor'],
  }) === true;

function reasons(machine: Machine, row: Values, event: MomentEvent): readonly string[] {
  const edges = machine.states[String(row['status'])]?.on?.[event.type];
  if (edges === undefined) return ['wrong_status'];
  const untrue = [edges].flat().flatMap(({ guard }) =>
    Object.entries(guard?.params ?? {})
      .filter(([, node]) => !holds(node, row, event))
      .map(([name]) => name),
  );
  return [...new Set(untrue)];
}

/** Whether the database itself must refuse what memory made of the row. */
function breaksRule(machine: Machine, before: Values, after: Values): boolean {
  const entered = isLeased(machine, String(after['status']));
  const [fence, lease, owner] = [machine.fence, machine.lease, machine.owner];
  const raised = Number(after[fence]) > Number(before[fence]);
  const kept = isLeased(machine, String(before['status'])) && before[owner] === after[owner];
  return (
    Number(before['seq']) >= largestInt ||
    (entered && !raised && !kept) ||
    (entered && (after[lease] === null || after[owner] === null)) ||
    Object.values(machine.checks ?? {}).some(
      (node) => evaluate(node, { row: after, fields: {}, at: 0, dice: 0 }) !== true,
    ) ||
    Object.entries(machine.columns).some(
      ([name, declared]) => after[name] === null && !isNullable(declared),
    )
  );
}

/** The outcome that had to come, and the row that had to be there afterwards. */
function expected(machine: Machine, sent: Sent) {
  const { before, outcome } = sent;
  if (!before) return { outcome: 'missing' } as const;
  const status = String(before['status']);
  const fence = before[machine.fence];
  const by = machine.events[sent.event]?.by;
  if (by === 'owner' && (sent.fence !== fence || !snapshotOf(machine, before).hasTag('leased'))) {
    return { outcome: 'lost', status, fence } as const;
  }
  const moment = { at: outcome.at ?? sent.between[0], dice: outcome.dice ?? 0 };
  const event = { actor: sent.actor, ...sent.fields, type: sent.event, ...moment };
  const next = replay(machine, before, event);
  if (!next) {
    return { outcome: 'refused', status, because: reasons(machine, before, event) } as const;
  }
  if (breaksRule(machine, before, next)) return { outcome: 'invalid' } as const;
  const after = {
    ...before,
    ...next,
    seq: Number(before['seq']) + 1,
    event: sent.event,
    actor: by === 'owner' ? before[machine.owner] : sent.actor,
    // Runs are staged as if another definition had written them; the machine's is the only one
    // here.
    definition: 1,
  };
  return { outcome: 'applied', after } as const;
}

const differs = (what: string, wanted: unknown, found: unknown): string[] =>
  isDeepStrictEqual(wanted, found)
    ? []
    : [`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];

const rowDiffers = (what: string, wanted: Values, found: Values = {}): string[] =>
  [...new Set([...Object.keys(wanted), ...Object.keys(found)])].flatMap((name) =>
    differs(`${what}.${name}`, wanted[name], found[name]),
  );

/** What an outcome says of a row must be in the row; it need not say everything. */
const imageDiffers = (what: string, row: Values, image: Values = {}): string[] =>
  Object.keys(image).flatMap((name) => differs(`${what}.${name}`, row[name], image[name]));

function faults(machine: Machine, sent: Sent): string[] {
  const { outcome, before, after, between } = sent;
  const wanted = expected(machine, sent);
  const kind = differs('outcome', wanted.outcome, outcome.outcome);
  if (kind.length > 0) return kind;
  if (wanted.outcome !== 'applied') {
    return [
      ...rowDiffers('untouched', before ?? {}, after),
      ...('status' in wanted ? differs('status', wanted.status, outcome.status) : []),
      ...('fence' in wanted ? differs('fence', wanted.fence, outcome.fence) : []),
      ...('because' in wanted ? differs('because', wanted.because, outcome.because) : []),
    ];
  }
  const { at = 0, dice = -1 } = outcome;
  return [
    ...(at < between[0] || at > between[1] ? [`at ${at} is not within the statement`] : []),
    ...(dice < 0 || dice >= 1 ? [`dice ${dice}`] : []),
    ...rowDiffers('row', wanted.after, after),
    ...imageDiffers('image before', before ?? {}, outcome.before),
    ...imageDiffers('image after', after ?? {}, outcome.after),
  ];
}

/** What is wrong with an answer; empty if nothing is. */
export function judge(machine: Machine, sent: Sent): readonly string[] {
  const found = faults(machine, sent);
  if (found.length === 0) return [];
  const { event, fields, fence, before } = sent;
  const said = JSON.stringify({ event, fields, fence, before });
  return [`${machine.id}: ${found.join('; ')}\n    sent ${said}`];
}
