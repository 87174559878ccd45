import { describe, expect, it } from 'vitest';
import { arrowsBy, arrowsOf, dueColumn, isFinal, isLeased } from '../../machines/arrows.ts';
import { outbox } from '../../machines/outbox.ts';
import { and, clock, col, lit, lte, set, when } from '../../machines/vocabulary.ts';
import { errand, withArrows } from './errand.ts';

const nothing = { lit: null };

describe('arrowsOf', () => {
  it('lists every arrow in the order of the declaration', () => {
    const listed = arrowsOf(errand).map(({ from, event, to }) => [from, event, to]);
    expect(listed).toEqual([
      ['open', 'claim', 'held'],
      ['open', 'cancel', 'canceled'],
      ['held', 'finish', 'done'],
      ['held', 'renew', 'held'],
      ['held', 'lease.expired', 'open'],
      ['held', 'lease.expired', 'canceled'],
    ]);
  });

  it('clears lease and owner where an arrow leads to a status without an owner', () => {
    for (const arrow of arrowsOf(errand).filter(({ to }) => !isLeased(errand, to))) {
      expect(arrow.set).toMatchObject({ until: nothing, holder: nothing });
    }
  });

  it('leaves lease and owner alone where an arrow keeps the owner', () => {
    const [renew] = arrowsBy(errand, 'renew');
    expect(Object.keys(renew?.set ?? {})).toEqual(['until']);
  });

  it('keeps what an arrow writes beside what is derived', () => {
    const [cancel] = arrowsBy(errand, 'cancel');
    expect(cancel?.set).toEqual({ until: nothing, holder: nothing, note: { field: 'reason' } });
    expect(cancel?.description).toBe('Nobody began it.');
  });

  it('gives an arrow without a guard no conditions', () => {
    expect(arrowsBy(errand, 'finish').map(({ guard }) => guard)).toEqual([{}]);
  });

  it('drops effects that are undefined', () => {
    const machine = withArrows('open', 'cancel', {
      target: 'canceled',
      actions: set({ note: undefined }),
    });
    expect(Object.keys(arrowsBy(machine, 'cancel')[0]?.set ?? {})).toEqual(['until', 'holder']);
  });

  it('finds all twelve arrows of the outbox', () => {
    expect(arrowsOf(outbox)).toHaveLength(12);
  });
});

describe('a renewal', () => {
  const renewals = (machine: typeof errand) =>
    arrowsOf(machine)
      .filter(({ renewal }) => renewal)
      .map(({ event }) => event);

  it('keeps the status and writes the lease alone', () => {
    expect(renewals(errand)).toEqual(['renew']);
  });

  it('is none when it writes anything else', () => {
    const machine = withArrows('held', 'renew', {
      target: 'held',
      actions: set({ until: clock, note: lit('alive') }),
    });
    expect(renewals(machine)).toEqual([]);
  });

  it('is none when it leads elsewhere', () => {
    const machine = withArrows('held', 'renew', {
      target: 'open',
      actions: set({ until: clock }),
    });
    expect(renewals(machine)).toEqual([]);
  });

  it('is none when it writes nothing', () => {
    expect(renewals(withArrows('held', 'renew', { target: 'held' }))).toEqual([]);
  });

  it('is none when it writes another column alone', () => {
    const machine = withArrows('held', 'renew', {
      target: 'held',
      actions: set({ note: lit('alive') }),
    });
    expect(renewals(machine)).toEqual([]);
  });
});

describe('dueColumn', () => {
  const due = (guard: ReturnType<typeof when>['params'] & object) => {
    const machine = withArrows('open', 'cancel', {
      guard: when({ ...guard }),
      target: 'canceled',
    });
    const [arrow] = arrowsBy(machine, 'cancel');
    return arrow && dueColumn(arrow);
  };

  it('is the column that the clock has to have passed', () => {
    expect(arrowsOf(errand).map(dueColumn)).toEqual([
      'next_at',
      undefined,
      undefined,
      undefined,
      'until',
      'until',
    ]);
  });

  it('is found behind other conditions', () => {
    expect(due({ odd: col('urgent'), not_due: lte(col('until'), clock) })).toBe('until');
  });

  it.each([
    ['the other way round', lte(clock, col('until'))],
    ['between columns', lte(col('next_at'), col('until'))],
    ['inside and', and(lte(col('until'), clock))],
  ] as const)('is none for a comparison %s', (_, condition) => {
    expect(due({ odd: condition })).toBeUndefined();
  });
});

describe('a status', () => {
  it('is leased or final by its declaration', () => {
    const said = (status: string) => [isLeased(errand, status), isFinal(errand, status)];
    expect(said('open')).toEqual([false, false]);
    expect(said('held')).toEqual([true, false]);
    expect(said('done')).toEqual([false, true]);
    expect(said('unheard of')).toEqual([false, false]);
  });
});
