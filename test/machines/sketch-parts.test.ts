// A machine that is too large for one picture, in several: nothing of it is left out.

import { describe, expect, it } from 'vitest';
import { documentSession } from '../../machines/document-session.ts';
import { overviewOf, partsOf } from '../../machines/sketch-parts.ts';
import { sketchOfStates } from '../../machines/sketch-states.ts';
import { parcel } from './parcel.ts';

describe('a large machine', () => {
  const whole = sketchOfStates(documentSession);
  const [overview, parts] = [overviewOf(whole), partsOf(whole)];
  const drawn = [overview, ...parts];
  const ids = (of: 'nodes' | 'arrows') =>
    new Set(drawn.flatMap((sketch) => sketch[of].map(({ id }) => id)));

  it('has every state and every arrow in the overview or in a part', () => {
    expect(ids('nodes')).toEqual(new Set(whole.nodes.map(({ id }) => id)));
    expect(ids('arrows')).toEqual(new Set(whole.arrows.map(({ id }) => id)));
  });

  it('draws apart the states of the lane that have others in them', () => {
    expect(parts.map(({ id }) => id)).toEqual(
      ['loading', 'clean', 'dirty', 'discarding', 'readOnly'].map(
        (name) => `documentSession-${name}`,
      ),
    );
    const closed = overview.nodes.flatMap(({ name, within }) => (within ? [name] : []));
    expect(closed).toEqual(['loading', 'clean', 'dirty', 'discarding', 'readOnly']);
  });

  it('says by name where an arrow leads whose end is not drawn', () => {
    for (const { nodes, arrows } of drawn) {
      const known = new Set(nodes.map(({ id }) => id));
      for (const { from, to, toward } of arrows) {
        expect(known.has(from)).toBe(true);
        expect(known.has(to) || toward !== undefined).toBe(true);
      }
    }
  });
});

describe('a small machine', () => {
  it('is its own overview, and has no parts', () => {
    const whole = sketchOfStates(parcel);
    expect(overviewOf(whole)).toEqual(whole);
    expect(partsOf(whole)).toEqual([]);
  });
});
