import { describe, expect, it } from 'vitest';
import { machines } from '../../machines/all.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { col, eq, lit, not, set, when } from '../../machines/vocabulary.ts';
import { definitionHash } from '../../persistence/definition-hash.ts';
import { difference, permitted } from '../../persistence/permitted.ts';
import { arrowAt, errand, withArrows } from '../machines/errand.ts';

const hasNote = { noteless: not(eq(col('note'), lit(''))) };
const paused: Machine = {
  ...withArrows('open', 'cancel', [
    { guard: when({ odd: lit(true) }), target: 'paused' },
    arrowAt('open', 'cancel'),
  ]),
};
const withPause: Machine = {
  ...paused,
  states: { ...paused.states, paused: { on: { cancel: { target: 'canceled' } } } },
};

describe('permitted', () => {
  it('names ownership, statuses and arrows, and what a row must hold', () => {
    const { allows, checks } = permitted(errand);
    expect([...allows]).toEqual([
      'fence in errand.tries, lease until, owner holder',
      'status open without owner',
      'status held with an owner',
      'status done without owner',
      'status canceled without owner',
      'status open may be left',
      'status held may be left',
      'arrow open → held by claim',
      'arrow open → canceled by cancel',
      'arrow held → done by finish',
      'arrow held → held by renew',
      'arrow held → open by lease.expired',
      'arrow held → canceled by lease.expired',
    ]);
    expect([...checks]).toEqual(['check untitled: {"not":{"eq":[{"col":"title"},{"lit":""}]}}']);
  });
});

describe('difference', () => {
  it.each(machines.map((machine) => [machine.id, machine] as const))(
    'is none between %s and itself read back from JSON',
    (_, machine) => {
      const read: Machine = JSON.parse(JSON.stringify(machine));
      expect(difference(machine, read)).toEqual({ wider: [], narrower: [] });
    },
  );

  it('is wider by statuses and arrows that are added', () => {
    expect(difference(withPause, errand)).toEqual({
      wider: [
        'status paused without owner',
        'status paused may be left',
        'arrow open → paused by cancel',
        'arrow paused → canceled by cancel',
      ],
      narrower: [],
    });
  });

  it('is the other way round from the other side', () => {
    const { wider, narrower } = difference(withPause, errand);
    expect(difference(errand, withPause)).toEqual({ wider: narrower, narrower: wider });
  });

  it('is narrower by a check that is added, wider by one that is dropped', () => {
    const stricter = { ...errand, checks: { ...errand.checks, ...hasNote } };
    const fact = 'check noteless: {"not":{"eq":[{"col":"note"},{"lit":""}]}}';
    expect(difference(stricter, errand)).toEqual({ wider: [], narrower: [`with ${fact}`] });
    expect(difference(errand, stricter)).toEqual({ wider: [`without ${fact}`], narrower: [] });
  });

  it('is both when an arrow is bent', () => {
    const bent = withArrows('held', 'finish', { ...arrowAt('held', 'finish'), target: 'canceled' });
    expect(difference(bent, errand)).toEqual({
      wider: ['arrow held → canceled by finish'],
      narrower: ['arrow held → done by finish'],
    });
  });

  it('is both when a check says something else under the same name', () => {
    const changed = { ...errand, checks: { untitled: lit(true) } };
    const { wider, narrower } = difference(changed, errand);
    expect([wider, narrower].map((facts) => facts.length)).toEqual([1, 1]);
  });

  it('is none for guards, effects and descriptions: the database does not hold them', () => {
    const other = withArrows('open', 'cancel', {
      description: 'Told otherwise.',
      target: 'canceled',
      actions: set({ note: lit('x') }),
    });
    expect(difference(other, errand)).toEqual({ wider: [], narrower: [] });
  });
});

describe('definitionHash', () => {
  it('is 64 hex digits, and the same for the same declaration read back', () => {
    const read: Machine = JSON.parse(JSON.stringify(errand));
    expect(definitionHash(errand)).toMatch(/^[0-9a-f]{64}$/);
    expect(definitionHash(read)).toBe(definitionHash(errand));
  });

  it('does not depend on the order of names, as jsonb gives them back in another', () => {
    const reversed = <T extends object>(object: T) =>
      Object.fromEntries(Object.entries(object).toReversed()) as T;
    const other = { ...reversed(errand), states: reversed(errand.states) };
    expect(definitionHash(other)).toBe(definitionHash(errand));
  });

  it.each<[string, Machine]>([
    ['a guard', withArrows('open', 'cancel', { ...arrowAt('open', 'cancel'), guard: when({}) })],
    ['a description', { ...errand, description: 'Something else.' }],
    ['a kind', { ...errand, columns: { ...errand.columns, note: 'text' } }],
    [
      'the order of branches',
      withArrows(
        'held',
        'lease.expired',
        [errand.states['held']?.on?.['lease.expired'] ?? []].flat().toReversed(),
      ),
    ],
  ])('is another one for %s', (_, machine) => {
    expect(definitionHash(machine)).not.toBe(definitionHash(errand));
  });
});
