// Random runs and events for property tests, from the declared kinds: every status, counters at
// their ends, instants on both sides of the clock, nulls wherever a column may hold one.

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { isLeased } from '../../machines/arrows.ts';
import { isNullable, kindOfDeclared } from '../../machines/kind-of.ts';
import type { Declared, Kind } from '../../machines/vocabulary.ts';
import type { Case } from './edges.ts';
import type { MachineEntry, Values } from './machines.ts';
import { fieldsOf, valuesOf } from './samples.ts';

/** A generated pair. Instants are offsets from a clock that is read when the run is staged. */
export interface RandomPair {
  readonly event: string;
  readonly status: string;
  readonly seq: number;
  readonly columns: Values;
  readonly fields: Values;
  readonly fenceOff: number;
  readonly isStaged: boolean;
}

const minute = 60_000_000;
const century = 100 * 365.25 * 24 * 60 * minute;
const ends = [0, 1, 2, 40, 2_147_483_646, 2_147_483_647, -1, -2_147_483_648];

/** Far enough from the clock that it is the same side of it before and after the statement. */
const offset = fc
  .tuple(fc.constantFrom(-1, 1), fc.integer({ min: 5 * minute, max: century }))
  .map(([sign, length]) => sign * length);

// JSON.stringify has no -0, so a value that holds one would not be sent as it is.
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));

// NUL and lone surrogates are the door's to refuse; see poison.ts.
const isStorable = (value: unknown) =>
  value !== null && !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(value));

const ofKind: Readonly<Record<Kind, fc.Arbitrary<unknown>>> = {
  int: fc.oneof(fc.constantFrom(...ends), fc.integer({ min: -3, max: 20 }), fc.integer()),
  text: fc
    .oneof(fc.constantFrom('', 'a', "'; --", '😀'.repeat(500)), fc.string({ unit: 'binary' }))
    .map((text) => text.replaceAll('\u0000', '')),
  bool: fc.boolean(),
  instant: offset,
  uuid: fc.uuid(),
  json: fc.oneof({ weight: 3, arbitrary: fc.constantFrom({}, [[]]) }, json).filter(isStorable),
};

const orNull = (declared: Declared, arbitrary: fc.Arbitrary<unknown>) =>
  isNullable(declared) ? fc.option(arbitrary, { nil: null, freq: 3 }) : arbitrary;

function columnOf(entry: MachineEntry, name: string, declared: Declared): fc.Arbitrary<unknown> {
  const kind = kindOfDeclared(declared);
  // What runs are born with is what guards compare fields with, and ids are appended to it.
  const born = entry.births.map((row) => row[name]).filter((value) => value !== undefined);
  const useful = born.length > 0 && kind !== 'instant' && kind !== 'uuid';
  return orNull(declared, useful ? fc.oneof(fc.constantFrom(...born), ofKind[kind]) : ofKind[kind]);
}

/** A column that its status demands or forbids: lease and owner, together with the status. */
function ownership(entry: MachineEntry, status: string) {
  const { machine } = entry;
  const leased = isLeased(machine, status);
  return {
    [machine.lease]: leased ? offset : fc.constant(null),
    [machine.owner]: leased ? fc.constantFrom('w', 'worker 2') : fc.constant(null),
  };
}

function pairOf(entry: MachineEntry, event: string, status: string): fc.Arbitrary<RandomPair> {
  const { machine } = entry;
  const columns = Object.entries(machine.columns).map(
    ([name, declared]) => [name, columnOf(entry, name, declared)] as const,
  );
  const fields = fieldsOf(entry, event).map(([name, declared]) => {
    const known = fc.constantFrom(...valuesOf(entry, event, name));
    return [name, orNull(declared, fc.oneof(known, ofKind[kindOfDeclared(declared)]))] as const;
  });
  return fc.record({
    event: fc.constant(event),
    status: fc.constant(status),
    seq: fc.oneof({ weight: 400, arbitrary: fc.nat(1000) }, fc.constant(2_147_483_647)),
    columns: fc.record({ ...Object.fromEntries(columns), ...ownership(entry, status) }),
    fields: fc.record(Object.fromEntries(fields)),
    fenceOff: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
    isStaged: fc.oneof({ weight: 20, arbitrary: fc.constant(true) }, fc.constant(false)),
  });
}

/** Pairs of one event, at most `most` of them. Statuses that it leaves come more often. */
export function randomPairs(entry: MachineEntry, most: number): fc.Arbitrary<RandomPair[]> {
  const { machine } = entry;
  const statuses = Object.keys(machine.states);
  return fc.constantFrom(...Object.keys(machine.events)).chain((event) => {
    const left = statuses.filter((status) => machine.states[status]?.on?.[event]);
    const status = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...left) },
      fc.constantFrom(...statuses),
    );
    const pair = status.chain((each) => pairOf(entry, event, each));
    return fc.array(pair, { minLength: 1, maxLength: most, size: 'max' });
  });
}

const clamp = (fence: number) => Math.min(2_147_483_647, Math.max(-2_147_483_648, fence));

/** The pair as a run to be staged around the clock and an event to be sent to it. */
export function caseOf(
  { machine, unique = [] }: MachineEntry,
  pair: RandomPair,
  clock: number,
): Case {
  const id = randomUUID();
  const columns = Object.entries(pair.columns).map(([name, value]) => {
    if (unique.includes(name)) return [name, `${value}${id}`];
    const isInstant = kindOfDeclared(machine.columns[name] ?? 'int') === 'instant';
    return [name, isInstant && typeof value === 'number' ? clock + value : value];
  });
  const row = { ...Object.fromEntries(columns), seq: pair.seq, id, status: pair.status };
  const fence = clamp(Number(pair.columns[machine.fence]) + pair.fenceOff);
  return { row, isStaged: pair.isStaged, event: pair.event, fields: pair.fields, fence };
}
