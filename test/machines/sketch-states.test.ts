// A machine that is not persisted, read into a sketch.

import { describe, expect, it } from 'vitest';
import { createMachine, or } from 'xstate';
import { inMemory } from '../../machines/in-memory.ts';
import { outbox } from '../../machines/outbox.ts';
import { sketchOf } from '../../machines/sketch.ts';
import { sketchOfStates } from '../../machines/sketch-states.ts';
import { parcel } from './parcel.ts';

const sketch = sketchOfStates(parcel);
const node = (id: string) => sketch.nodes.find((each) => each.id === id);

describe('sketchOfStates', () => {
  it('has every state, in the state around it', () => {
    expect(sketch.nodes.map(({ id, parent }) => [id, parent])).toEqual([
      ['parcel', undefined],
      ['parcel.packing', 'parcel'],
      ['parcel.wrapping', 'parcel'],
      ['parcel.travelling', 'parcel'],
      ['parcel.travelling.van', 'parcel.travelling'],
      ['parcel.travelling.van.loaded', 'parcel.travelling.van'],
      ['parcel.travelling.van.empty', 'parcel.travelling.van'],
      ['parcel.travelling.papers', 'parcel.travelling'],
      ['parcel.travelling.papers.open', 'parcel.travelling.papers'],
      ['parcel.travelling.papers.signed', 'parcel.travelling.papers'],
      ['parcel.arrived', 'parcel'],
      ['parcel.lost', 'parcel'],
    ]);
  });

  it('has every arrow: of events, of delays, of work, of ends, and of the whole', () => {
    expect(
      sketch.arrows.map(({ from, event, to, short }) => `${from} ${event} ${short} > ${to}`),
    ).toEqual([
      'parcel lose  > parcel.lost',
      'parcel ask  > parcel',
      'parcel.packing shake if fragile > parcel.packing',
      'parcel.packing shake otherwise > parcel.packing',
      'parcel.packing weigh done if not fragile > parcel.travelling',
      'parcel.packing weigh failed  > parcel.lost',
      'parcel.packing at once if fragile and has tries left > parcel.wrapping',
      'parcel.wrapping after 2 s  > parcel.packing',
      'parcel.wrapping after 90 s  > parcel.lost',
      'parcel.travelling done  > parcel.arrived',
      'parcel.travelling.van.loaded unload  > parcel.travelling.van.empty',
      'parcel.travelling.papers.open sign  > parcel.travelling.papers.signed',
    ]);
    expect(new Set(sketch.arrows.map(({ id }) => id)).size).toBe(sketch.arrows.length);
  });

  it('says what begins, what ends, and what is in force at once', () => {
    const initial = sketch.nodes.filter((each) => each.initial).map(({ name }) => name);
    expect(initial).toEqual(['packing', 'loaded', 'open']);
    const final = sketch.nodes.filter((each) => each.final).map(({ name }) => name);
    expect(final).toEqual(['empty', 'signed', 'arrived', 'lost']);
    expect(node('parcel.travelling')?.parallel).toBe(true);
    expect(node('parcel.packing')?.parallel).toBe(false);
  });

  it('says what goes on in a state, without what XState puts there for a delay', () => {
    expect(node('parcel.packing')?.activities).toEqual(['meanwhile: weigh', 'first: count']);
    expect(node('parcel.wrapping')?.activities).toEqual([]);
  });

  it('says what actions are called, and knows nothing of senders and fences', () => {
    const shakes = sketch.arrows.filter(({ event }) => event === 'shake');
    expect(shakes.map(({ effect }) => effect)).toEqual([['ring'], ['count']]);
    expect(sketch.arrows.filter(({ by, fence }) => by !== undefined || fence !== 'none')).toEqual(
      [],
    );
  });

  it('does not make the machine a node where it has nothing of its own', () => {
    const small = sketchOfStates(
      createMachine({ id: 'small', initial: 'a', states: { a: { on: { go: 'b' } }, b: {} } }),
    );
    expect(small.nodes.map(({ id, parent }) => [id, parent])).toEqual([
      ['small.a', undefined],
      ['small.b', undefined],
    ]);
  });

  it('reads guards within guards, and functions without a name', () => {
    const guarded = createMachine({
      id: 'guarded',
      initial: 'a',
      states: {
        a: {
          on: {
            x: { guard: or(['isWarm', 'isDry']), target: 'b' },
            y: {
              guard: (
                () => () =>
                  true
              )(),
              target: 'b',
            },
          },
        },
        b: {},
      },
    });
    const { arrows } = sketchOfStates(guarded);
    expect(arrows.map(({ short }) => short)).toEqual(['if warm or dry', 'if a condition']);
  });

  it('reads the in-memory reading of a persisted machine to the same arrows', () => {
    const read = sketchOfStates(inMemory(outbox)).arrows;
    const own = sketchOf(outbox).arrows;
    const plain = (id: string) => id.replace(/^outbox\./, '');
    expect(read.map(({ from, event, to }) => [plain(from), event, plain(to)])).toEqual(
      own.map(({ from, event, to }) => [from, event, to]),
    );
  });
});
