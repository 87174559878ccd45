// What does not compile. Each declaration below has one mistake, on the line after the comment that
// names it: if the compiler stops to see it, `npm run check` fails on the unused comment. Running
// them shows which of the mistakes are also seen at load, when types were circumvented.

import { describe, expect, it } from 'vitest';
import { checkMachine } from '../../machines/check.ts';
import { type Machine, statusMachine } from '../../machines/status-machine.ts';
import { after, clock, col, eq, field, lit, lt, set, when } from '../../machines/vocabulary.ts';

const base = {
  id: 'small',
  description: 'A status machine for mistakes.',
  table: 'small',
  columns: {
    n: 'int',
    until: 'instant?',
    at: 'instant?',
    who: 'text?',
    note: 'text',
    plan: 'json',
    other: 'json',
    urgent: 'bool',
  },
  frozen: ['plan'],
  fence: 'n',
  lease: 'until',
  owner: 'who',
  events: {
    go: { by: 'operator', fields: { ok: 'bool', why: 'text' } },
    stop: { by: 'operator', fields: { ms: 'int' } },
  },
  initial: 'a',
} as const;
const b = { type: 'final' } as const;
const stop = { target: 'b' } as const;

const right = () =>
  statusMachine({
    ...base,
    commands: { again: { from: ['b'], description: 'Makes a new one.' } },
    checks: { unnamed: eq(col('note'), col('who')) },
    states: {
      a: {
        on: {
          go: {
            guard: when({ no: field('ok'), rare: eq(field('why'), lit('x')) }),
            target: 'b',
            actions: set({ note: field('why'), urgent: lit(true) }),
          },
          stop: { target: 'b', actions: set({ at: after(clock, field('ms')) }) },
        },
      },
      b,
    },
  });

const nowhere = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a target that is no status
    states: { a: { on: { stop, go: { target: 'c' } } }, b },
  });

const unborn = () =>
  statusMachine({
    ...base,
    // @ts-expect-error an initial status that does not exist
    initial: 'z',
    states: { a: { on: { stop, go: { target: 'b' } } }, b },
  });

const unknownEvent = () =>
  statusMachine({
    ...base,
    // @ts-expect-error an event that is not declared
    states: { a: { on: { stop, go: { target: 'b' }, halt: { target: 'b' } } }, b },
  });

const unknownColumnInGuard = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a column in a guard that is not declared
    states: { a: { on: { stop, go: { guard: when({ no: col('m') }), target: 'b' } } }, b },
  });

const unknownField = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a field that the event does not bring
    states: { a: { on: { stop, go: { guard: when({ no: field('okay') }), target: 'b' } } }, b },
  });

const fieldOfAnotherEvent = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a field that only another event brings
    states: { a: { on: { stop, go: { target: 'b', actions: set({ n: field('ms') }) } } }, b },
  });

const unknownColumnSet = () =>
  statusMachine({
    ...base,
    // @ts-expect-error an effect on a column that is not declared
    states: { a: { on: { stop, go: { target: 'b', actions: set({ m: lit(1) }) } } }, b },
  });

const wrongKindSet = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a text put into a number
    states: { a: { on: { stop, go: { target: 'b', actions: set({ n: field('why') }) } } }, b },
  });

const literalOfWrongKind = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a text literal put into a number
    states: { a: { on: { stop, go: { target: 'b', actions: set({ n: lit('1') }) } } }, b },
  });

const instantLiteral = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a number for an instant, which comes from the clock, a column or a field
    states: { a: { on: { stop, go: { target: 'b', actions: set({ at: lit(0) }) } } }, b },
  });

const orderOfTexts = () =>
  statusMachine({
    ...base,
    states: {
      // @ts-expect-error an order of texts
      a: { on: { stop, go: { guard: when({ no: lt(col('note'), col('who')) }), target: 'b' } } },
      b,
    },
  });

const jsonCompared = () =>
  statusMachine({
    ...base,
    states: {
      // @ts-expect-error json compared with json
      a: { on: { stop, go: { guard: when({ no: eq(col('plan'), col('other')) }), target: 'b' } } },
      b,
    },
  });

const textFence = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a fence that is no int
    fence: 'note',
    states: { a: { on: { stop, go: { target: 'b' } } }, b },
  });

const textLease = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a lease that is no instant
    lease: 'note',
    states: { a: { on: { stop, go: { target: 'b' } } }, b },
  });

const unknownFrozen = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a frozen column that is not declared
    frozen: ['plans'],
    states: { a: { on: { stop, go: { target: 'b' } } }, b },
  });

const commandFromNowhere = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a command from a status that does not exist
    commands: { again: { from: ['c'], description: 'Makes a new one.' } },
    states: { a: { on: { stop, go: { target: 'b' } } }, b },
  });

const timer = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a timer, which no UPDATE can be
    states: { a: { after: { 1000: 'b' }, on: { stop, go: { target: 'b' } } }, b },
  });

const actorOnArrow = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a key that no arrow has
    states: { a: { on: { stop, go: { target: 'b', invoke: 'mailer' } } }, b },
  });

const functionGuard = () =>
  statusMachine({
    ...base,
    // @ts-expect-error a function where data is wanted
    states: { a: { on: { stop, go: { guard: () => true, target: 'b' } } }, b },
  });

const seenAtLoad = {
  nowhere,
  unborn,
  unknownEvent,
  unknownColumnInGuard,
  unknownField,
  fieldOfAnotherEvent,
  unknownColumnSet,
  wrongKindSet,
  literalOfWrongKind,
  instantLiteral,
  orderOfTexts,
  jsonCompared,
  textFence,
  textLease,
  unknownFrozen,
  commandFromNowhere,
  timer,
  actorOnArrow,
  functionGuard,
};

const load = (declare: () => unknown) => checkMachine(declare() as Machine);

describe('statusMachine', () => {
  it('accepts the declaration that the mistakes start from', () => {
    expect(load(right)).toMatchObject({ id: 'small' });
  });

  it.each(Object.entries(seenAtLoad))('is refused at load too: %s', (_, declare) => {
    expect(() => load(declare)).toThrow(/^machine "small": /);
  });

  it('has nineteen mistakes to see', () => {
    expect(Object.keys(seenAtLoad)).toHaveLength(19);
  });
});
