// Each mistake that a declaration can have and that types may have let through, made by one change
// to a machine that has none. The whole message is compared: it names the machine, the place, the
// mistake.

import { describe, expect, it } from 'vitest';
import { machines } from '../../machines/all.ts';
import { checkMachine } from '../../machines/check.ts';
import { MachineError } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { clock, col, eq, field, lit, lte, set, when } from '../../machines/vocabulary.ts';
import { arrowAt, errand, withArrows } from './errand.ts';

function mistakeIn(machine: Machine): string {
  try {
    checkMachine(machine);
  } catch (error) {
    if (error instanceof MachineError) return error.message;
    throw error;
  }
  return 'no mistake';
}

const columns = (changed: Machine['columns']): Machine => ({
  ...errand,
  columns: { ...errand.columns, ...changed },
});
const events = (changed: Machine['events']): Machine => ({
  ...errand,
  events: { ...errand.events, ...changed },
});
const states = (changed: Machine['states']): Machine => ({
  ...errand,
  states: { ...errand.states, ...changed },
});
/** The arrow by which an errand is claimed, with other effects. */
const claiming = (effects: Parameters<typeof set>[0] & object) =>
  withArrows('open', 'claim', {
    ...arrowAt('open', 'claim'),
    actions: set({ ...arrowAt('open', 'claim').actions?.params, ...effects }),
  });
const only = (machine: Machine, column: string): Machine => {
  const { [column]: _, ...rest } = machine.columns;
  return { ...machine, columns: rest };
};
const claimWithout = (column: string) => {
  const { [column]: _, ...rest } = arrowAt('open', 'claim').actions?.params ?? {};
  return withArrows('open', 'claim', { ...arrowAt('open', 'claim'), actions: set(rest) });
};
const raised = { increment: col('tries') };
const lapsed = when({ not_lapsed: lte(col('until'), clock) });

describe('checkMachine', () => {
  it('returns the very declaration that it was given', () => {
    expect(checkMachine(errand)).toBe(errand);
  });

  it.each(machines.map((machine) => [machine.id, machine] as const))('passes %s', (_, machine) => {
    expect(mistakeIn(machine)).toBe('no mistake');
  });
});

const ownership: readonly (readonly [string, Machine, string])[] = [
  [
    'a fence that is no int',
    { ...errand, fence: 'title' },
    'fence "title" is not a column of kind int',
  ],
  [
    'a fence that may be null',
    columns({ tries: 'int?' }),
    'fence "tries" is not a column of kind int',
  ],
  ['a fence without a column', only(errand, 'tries'), 'fence "tries" is not a column of kind int'],
  [
    'a lease that is never null',
    columns({ until: 'instant' }),
    'lease "until" is not of kind instant?',
  ],
  [
    'an owner that is never null',
    columns({ holder: 'text' }),
    'owner "holder" is not of kind text?',
  ],
  ['a frozen column that is none', only(errand, 'parent'), 'frozen: there is no column "parent"'],
  ['a frozen fence', { ...errand, frozen: ['tries'] }, 'frozen: "tries" has to move'],
  ['a frozen lease', { ...errand, frozen: ['until'] }, 'frozen: "until" has to move'],
  ['a frozen owner', { ...errand, frozen: ['holder'] }, 'frozen: "holder" has to move'],
  [
    'a claim whose field may be null',
    events({ claim: { by: 'claim', fields: { owner: 'text?', lease_ms: 'int' } } }),
    'a claim\'s field "owner" is never null',
  ],
];

const shape: readonly (readonly [string, Machine, string])[] = [
  ['no initial status', { ...errand, initial: 'new' }, 'there is no initial status "new"'],
  ['a leased birth', { ...errand, initial: 'held' }, 'a run is not born with an owner'],
  [
    'an event that is not declared',
    withArrows('open', 'hurry', { target: 'done' }),
    'status "open": the event "hurry" is not declared',
  ],
  [
    'a target that is no status',
    withArrows('open', 'cancel', { target: 'gone' }),
    '"open" on "cancel": there is no status "gone"',
  ],
  [
    'a final status with an arrow',
    states({ done: { type: 'final', on: { cancel: { target: 'canceled' } } } }),
    'status "done": a final status has no arrows',
  ],
  [
    'a final status with an owner',
    states({ done: { type: 'final', tags: ['leased'] } }),
    'status "done": a final status has no owner',
  ],
  ['a dead end', states({ done: {} }), 'status "done": nothing leaves it: make it final'],
  [
    'a status that no arrow leads to',
    states({ lost: { type: 'final' } }),
    'status "lost": no arrow leads to it',
  ],
  [
    'a command from a status that is not final',
    { ...errand, commands: { repeat: { from: ['open'], description: 'Again.' } } },
    'command "repeat": "open" is not final',
  ],
  [
    'an event that no arrow takes',
    withArrows('open', 'cancel', undefined),
    'event "cancel": no arrow is taken by it',
  ],
  [
    'an arrow behind one that is always taken',
    withArrows('open', 'cancel', [{ target: 'canceled' }, { target: 'done' }]),
    '"open" on "cancel": an arrow after one without a guard is never taken',
  ],
];

const senders: readonly (readonly [string, Machine, string])[] = [
  [
    'a claim that leaves the fence',
    claimWithout('tries'),
    '"open" on "claim": a claim raises the fence: set tries to its increment',
  ],
  [
    'a claim that sets the fence to another increment',
    claiming({ tries: { increment: col('losses') } }),
    '"open" on "claim": a claim raises the fence: set tries to its increment',
  ],
  [
    'a claim that leads to a status without an owner',
    withArrows('open', 'claim', [
      arrowAt('open', 'claim'),
      { guard: when({ odd: lit(true) }), target: 'done', actions: set({ tries: raised }) },
    ]),
    '"open" on "claim": a claim leads to a leased status, "done" is none',
  ],
  ['a claim without an owner', claimWithout('holder'), '"open" on "claim": a claim sets holder'],
  ['a claim without a lease', claimWithout('until'), '"open" on "claim": a claim sets until'],
  [
    'another event that touches the fence',
    withArrows('held', 'renew', { target: 'held', actions: set({ tries: lit(9) }) }),
    '"held" on "renew": only a claim raises the fence',
  ],
  [
    'another event that enters a leased status',
    withArrows('open', 'cancel', { target: 'held' }),
    '"open" on "cancel": only a claim enters the leased status "held"',
  ],
  [
    "an owner's event where nobody owns",
    withArrows('open', 'finish', { target: 'done' }),
    '"open" on "finish": an owner\'s event leaves from a leased status, "open" is none',
  ],
  [
    'a sweep that does not wait for a time',
    {
      ...withArrows('open', 'tidy', { guard: when({ never: lit(false) }), target: 'done' }),
      events: { ...errand.events, tidy: { by: 'sweep' } },
    },
    '"open" on "tidy": a sweep is judged by time: its guard needs lte(col(…), clock)',
  ],
  [
    'a sweep that waits for two columns',
    withArrows('held', 'lease.expired', [
      { guard: lapsed, target: 'open' },
      { guard: when({ late: lte(col('next_at'), clock) }), target: 'open' },
    ]),
    'event "lease.expired": its arrows wait for different columns',
  ],
  [
    'an effect that writes what the end of the arrow clears',
    withArrows('open', 'cancel', { target: 'done', actions: set({ holder: lit('me') }) }),
    '"open" on "cancel": set "holder": entering "done" clears it by itself',
  ],
  [
    'an owner who names another',
    withArrows('held', 'renew', { target: 'held', actions: set({ holder: lit('me') }) }),
    '"held" on "renew": only a claim sets the owner',
  ],
  [
    'an owner who drops the lease and stays',
    withArrows('held', 'renew', { target: 'held', actions: set({ until: lit(null) }) }),
    '"held" on "renew": a leased status keeps its lease',
  ],
  [
    'a dead owner whom nobody replaces',
    withArrows('held', 'lease.expired', undefined),
    'status "held": nothing frees it from a dead owner: a sweep or a claim waits for until',
  ],
  [
    'a sweep with fields, which nobody could fill',
    events({ 'lease.expired': { by: 'sweep', fields: { why: 'text?' } } }),
    'event "lease.expired": a sweep brings no fields',
  ],
  [
    'a claim of what has a living owner',
    withArrows('held', 'claim', { ...arrowAt('open', 'claim'), target: 'held' }),
    '"held" on "claim": a claim from "held" waits for the lease: lte(col(lease), clock)',
  ],
];

/** Data that came through a cast: what types would have stopped. */
const cast = (changed: object) => ({ ...errand, ...changed }) as unknown as Machine;
const state = (changed: object) => cast({ states: { ...errand.states, held: changed } });
const edge = (changed: object) => state({ tags: ['leased'], on: { renew: changed } });

const closed: readonly (readonly [string, Machine, string])[] = [
  ['a key too much', cast({ entry: 1 }), 'the declaration: a machine has no "entry"'],
  ['a timer', state({ after: {} }), 'status "held": a state has no "after"'],
  ['states within', state({ states: {} }), 'status "held": a state has no "states"'],
  ['another type', state({ type: 'parallel' }), 'status "held": its type is unknown'],
  ['another tag', state({ tags: ['bad'] }), 'status "held": a tag is unknown'],
  [
    'an actor on an arrow',
    edge({ target: 'held', invoke: 'x' }),
    '"held" on "renew": an edge has no "invoke"',
  ],
  [
    'a guard by name',
    edge({ target: 'held', guard: { type: 'isOpen' } }),
    '"held" on "renew": a guard is made by when(…)',
  ],
  [
    'an effect by name',
    edge({ target: 'held', actions: { type: 'log' } }),
    '"held" on "renew": an effect is made by set(…)',
  ],
  [
    'a kind that is none',
    cast({ columns: { ...errand.columns, note: 'bigint?' } }),
    'columns: "note" is of no kind there is: bigint?',
  ],
  [
    'a sender who is nobody',
    cast({ events: { ...errand.events, cancel: { by: 'god' } } }),
    'event "cancel": nobody is called "god"',
  ],
  [
    'a frozen name twice',
    cast({ frozen: ['title', 'title'] }),
    'frozen: a name stands there twice',
  ],
  [
    "a check with a guard's own name",
    cast({ checks: { lease: lit(true) } }),
    'the check name "lease" is the kernel\'s',
  ],
  [
    'a command whose name would need escaping',
    cast({ commands: { "it's $$": { from: ['done'], description: 'Again.' } } }),
    '"it\'s $$" is no name: use a-z, 0-9 and _, at most 40',
  ],
  [
    'a name that every object answers to',
    cast({ frozen: ['constructor'] }),
    'frozen: there is no column "constructor"',
  ],
];

const names: readonly (readonly [string, Machine, string])[] = [
  ['id', columns({ id: 'uuid' }), 'the column name "id" is the kernel\'s'],
  ['status', columns({ status: 'text' }), 'the column name "status" is the kernel\'s'],
  [
    'fence',
    events({ finish: { by: 'owner', fields: { fence: 'int' } } }),
    'event "finish": the field name "fence" is the kernel\'s',
  ],
  [
    'wrong_status',
    withArrows('open', 'cancel', { guard: when({ wrong_status: lit(true) }), target: 'done' }),
    '"open" on "cancel": guard "wrong_status": the name is the kernel\'s',
  ],
  [
    'a column that is set and not declared',
    withArrows('open', 'cancel', { target: 'done', actions: set({ notes: lit('x') }) }),
    '"open" on "cancel": set "notes": there is no such column',
  ],
  [
    'a frozen column that is set',
    withArrows('open', 'cancel', { target: 'done', actions: set({ title: lit('x') }) }),
    '"open" on "cancel": set "title": the column is frozen',
  ],
];

describe.each([
  ['ownership', ownership, 10],
  ['the shape', shape, 11],
  ['who sends what', senders, 16],
  ['the closed shape', closed, 14],
  ["the kernel's names", names, 6],
] as const)('a mistake in %s', (_, cases, count) => {
  it.each(cases)('is refused: %s', (_name, machine, mistake) => {
    expect(mistakeIn(machine)).toBe(`machine "errand": ${mistake}`);
  });

  it('is tried in every way', () => {
    expect(cases).toHaveLength(count);
  });
});

describe('the hole in the types', () => {
  // Through a helper the literal is no longer fresh, so the compiler does not see the column too
  // much.
  const through = <P extends object>(effects: P) => set(effects);

  it('is closed at load', () => {
    const machine = withArrows('open', 'cancel', {
      target: 'done',
      actions: through({ note: field('reason'), nothing_like_it: field('reason') }),
    });
    expect(mistakeIn(machine)).toBe(
      'machine "errand": "open" on "cancel": set "nothing_like_it": there is no such column',
    );
  });

  it('lets a kind through that load refuses', () => {
    const machine = withArrows('open', 'cancel', {
      guard: when({ odd: eq(col('note'), col('losses')) }),
      target: 'done',
    });
    expect(mistakeIn(machine)).toBe(
      'machine "errand": "open" on "cancel": guard "odd": mixes text and int',
    );
  });
});
