// Events to send, generated from the declared kinds of their fields. Fields that a guard reads are
// combined with each other, because branches depend on them; the others take turns.

import { arrowsBy } from '../../machines/arrows.ts';
import type { MomentEvent } from '../../machines/in-memory.ts';
import { isNullable, kindOfDeclared, walk } from '../../machines/kind-of.ts';
import type { Kind, Node } from '../../machines/vocabulary.ts';
import { type MachineEntry, moments } from './machines.ts';

const ofKind: Readonly<Record<Kind, readonly unknown[]>> = {
  int: [0, 5000],
  text: ['a', 'Ünïcode "b"\n'],
  bool: [true, false],
  instant: [moments.early, moments.late],
  uuid: ['00000000-0000-4000-8000-00000000000a'],
  json: [[{ snake_key: 1, list: [null, true, 'ü'] }], {}],
};

export const fieldsOf = (entry: MachineEntry, event: string) =>
  Object.entries(entry.machine.events[event]?.fields ?? {});

export function nodesOfGuards(entry: MachineEntry, event: string): readonly Node[] {
  return arrowsBy(entry.machine, event).flatMap(({ guard }) => Object.values(guard).flatMap(walk));
}

/** What the guards compare a field with: literals, and the values that columns are born with. */
function comparedWith(entry: MachineEntry, event: string, field: string): readonly unknown[] {
  const pairs = nodesOfGuards(entry, event).flatMap((node): readonly Node[][] =>
    ['eq', 'ne', 'lt', 'lte'].flatMap((operator) => {
      const pair = (node as unknown as Readonly<Record<string, Node[] | undefined>>)[operator];
      return pair ? [pair] : [];
    }),
  );
  return pairs
    .filter((pair) => pair.some((node) => 'field' in node && node.field === field))
    .flat()
    .flatMap((node) => {
      if ('lit' in node) return [node.lit];
      if ('col' in node) return entry.births.map((row) => row[node.col] ?? null);
      return [];
    })
    .filter((value) => value !== null);
}

/** Values of one field: of its kind, what guards compare it with, and null where it may be. */
export function valuesOf(entry: MachineEntry, event: string, field: string): readonly unknown[] {
  const declared = entry.machine.events[event]?.fields?.[field] ?? 'text';
  return [
    ...new Set([
      ...ofKind[kindOfDeclared(declared)],
      ...comparedWith(entry, event, field),
      ...(entry.samples?.[field] ?? []),
      ...(isNullable(declared) ? [null] : []),
    ]),
  ];
}

type Choice = readonly (readonly [string, readonly unknown[]])[];

function product(choices: Choice): readonly Readonly<Record<string, unknown>>[] {
  return choices.reduce<readonly Readonly<Record<string, unknown>>[]>(
    (rows, [name, values]) =>
      rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  );
}

function inTurn(choices: Choice): readonly Readonly<Record<string, unknown>>[] {
  const turns = Math.max(1, ...choices.map(([, values]) => values.length));
  return Array.from({ length: turns }, (_, turn) =>
    Object.fromEntries(choices.map(([name, values]) => [name, values[turn % values.length]])),
  );
}

/** Who does not propose, own or ask for anything. */
export const somebody = 'somebody';

/** The senders that matter to an event: somebody, and those that runs are born with. */
function actorsOf(entry: MachineEntry, event: string): readonly unknown[] {
  const nodes = arrowsBy(entry.machine, event).flatMap(({ guard, set }) =>
    [...Object.values(guard), ...Object.values(set)].flatMap(walk),
  );
  if (!nodes.some((node) => 'actor' in node)) return [];
  const pairs = nodes.map((node) => ('ne' in node ? node.ne : 'eq' in node ? node.eq : []));
  const compared = pairs.filter((pair) => pair.some((node) => 'actor' in node)).flat();
  const columns = compared.flatMap((node) => ('col' in node ? [node.col] : []));
  const born = columns.flatMap((name) => entry.births.map((row) => row[name]));
  return [...new Set([somebody, ...born])];
}

/** The fields of one event in all the ways that matter. */
export function fieldSamples(entry: MachineEntry, event: string, turns: 'all' | 'one' = 'all') {
  const guarded = new Set(
    nodesOfGuards(entry, event).map((node) => ('field' in node ? node.field : '')),
  );
  const choices = fieldsOf(entry, event).map(
    ([name]) => [name, valuesOf(entry, event, name)] as const,
  );
  const actors = actorsOf(entry, event);
  const senders: Choice = actors.length > 0 ? [['actor', actors]] : [];
  const judged = product([...choices.filter(([name]) => guarded.has(name)), ...senders]);
  const everyTurn = inTurn(choices.filter(([name]) => !guarded.has(name)));
  // The second turn is the one in which a lease lasts.
  const carried = turns === 'all' ? everyTurn : [everyTurn[1] ?? everyTurn[0] ?? {}];
  return judged.flatMap((row) => carried.map((more) => ({ ...row, ...more })));
}

/** Every event of the machine, at both moments. */
export function eventSamples(
  entry: MachineEntry,
  turns: 'all' | 'one' = 'all',
): readonly MomentEvent[] {
  return Object.keys(entry.machine.events).flatMap((type) =>
    fieldSamples(entry, type, turns).flatMap((fields) =>
      [moments.early, moments.late].map((at) => ({ ...fields, type, at, dice: 0 })),
    ),
  );
}
