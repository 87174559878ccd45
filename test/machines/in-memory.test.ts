// The in-memory reading against the rules that every other reading has to follow, on the errand and
// on the machines of this service.

import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import { machines } from '../../machines/all.ts';
import { inMemory, type MomentEvent, type Row } from '../../machines/in-memory.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { clock, col, field, increment, lit, set, when } from '../../machines/vocabulary.ts';
import { errand, withArrows } from './errand.ts';

const at = 1_700_000_000_000_000;
const born: Row = {
  title: 'shop',
  note: null,
  losses: 0,
  tries: 0,
  next_at: at,
  until: null,
  holder: null,
};

function send(machine: Machine, status: string, row: Row, event: Partial<MomentEvent>) {
  const logic = inMemory(machine, row);
  const before = logic.resolveState({ value: status, context: row });
  const sent = { at, dice: 0.5, type: 'none', ...event };
  const [after] = transition(logic, before, sent);
  return { can: before.can(sent), status: after.value, row: after.context };
}

describe('inMemory', () => {
  it('begins in the initial status with the row that it was given', () => {
    const [snapshot] = initialTransition(inMemory(errand, born));
    expect(snapshot.value).toBe('open');
    expect(snapshot.context).toEqual(born);
  });

  it('claims: the fence goes up by one, the lease runs from the moment of the event', () => {
    const claim = { type: 'claim', owner: 'ada', lease_ms: 5000 };
    expect(send(errand, 'open', born, claim)).toEqual({
      can: true,
      status: 'held',
      row: { ...born, tries: 1, until: at + 5_000_000, holder: 'ada' },
    });
  });

  it('refuses what its guard does not allow, and changes nothing', () => {
    const late = { ...born, next_at: at + 1 };
    const claim = { type: 'claim', owner: 'ada', lease_ms: 5000 };
    expect(send(errand, 'open', late, claim)).toEqual({ can: false, status: 'open', row: late });
  });

  it('refuses a condition that is unknown', () => {
    const cancel = { type: 'cancel', reason: 'rain' };
    expect(send(errand, 'open', born, { ...cancel, sure: true }).can).toBe(true);
    expect(send(errand, 'open', born, cancel).can).toBe(false);
  });

  it('has no answer to an event of another status', () => {
    expect(send(errand, 'open', born, { type: 'finish' }).can).toBe(false);
    expect(send(errand, 'done', born, { type: 'claim', owner: 'ada', lease_ms: 1 }).can).toBe(
      false,
    );
  });

  it('clears lease and owner on leaving the leased status', () => {
    const held = { ...born, tries: 1, until: at, holder: 'ada' };
    const finished = send(errand, 'held', held, { type: 'finish', note: 'done', plan: null });
    expect(finished.row).toMatchObject({ until: null, holder: null, tries: 1, note: 'done' });
  });

  it('takes the first branch whose guard is true', () => {
    const held = (losses: number) => ({ ...born, tries: 1, until: at, holder: 'ada', losses });
    expect(send(errand, 'held', held(2), { type: 'lease.expired' }).status).toBe('open');
    expect(send(errand, 'held', held(3), { type: 'lease.expired' }).status).toBe('canceled');
  });

  it('evaluates every effect over the row before the transition', () => {
    const machine = withArrows('open', 'cancel', {
      guard: when({ always: lit(true) }),
      target: 'canceled',
      actions: set({
        tries: col('losses'),
        losses: increment(col('tries')),
        note: field('reason'),
      }),
    });
    const row = { ...born, tries: 7, losses: 2 };
    const { row: after } = send(machine, 'open', row, { type: 'cancel', reason: 'swap' });
    expect(after).toMatchObject({ tries: 2, losses: 8, note: 'swap' });
  });

  it('reads the moment from the event, so that a transition can be replayed', () => {
    const machine = withArrows('open', 'cancel', {
      target: 'canceled',
      actions: set({ next_at: clock }),
    });
    const first = send(machine, 'open', born, { type: 'cancel', at: 42 });
    expect(first.row['next_at']).toBe(42);
    expect(send(machine, 'open', born, { type: 'cancel', at: 42 })).toEqual(first);
  });

  it('never touches the row that it was given', () => {
    const row = Object.freeze({ ...born });
    send(errand, 'open', row, { type: 'claim', owner: 'ada', lease_ms: 1 });
    expect(row).toEqual(born);
  });

  it('ends in a final status', () => {
    const logic = inMemory(errand, born);
    expect(logic.resolveState({ value: 'done', context: born }).status).toBe('done');
  });
});

describe.each([errand, ...machines].map((machine) => [machine.id, machine] as const))(
  'the declaration of %s',
  (_, machine) => {
    it('is data: nothing is lost on its way through JSON', () => {
      expect(JSON.parse(JSON.stringify(machine))).toEqual(machine);
    });

    it('holds no function, class, Date or undefined', () => {
      const strangers: unknown[] = [];
      const look = (value: unknown): void => {
        if (['string', 'number', 'boolean'].includes(typeof value) || value === null) return;
        const prototype = typeof value === 'object' ? Object.getPrototypeOf(value) : undefined;
        if (prototype === Object.prototype || prototype === Array.prototype) {
          for (const each of Object.values(value ?? {})) look(each);
        } else {
          strangers.push(value);
        }
      };
      look(machine);
      expect(strangers).toEqual([]);
    });

    it('becomes a machine of XState with the same statuses', () => {
      expect(Object.keys(inMemory(machine).states)).toEqual(Object.keys(machine.states));
    });
  },
);
