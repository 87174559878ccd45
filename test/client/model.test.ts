// The real session does what the machine says: every move in every state that a tour reaches is
// made on both, and compared. The tour falls the same way each time; SEED and ROUNDS change it.

import { describe, expect, it } from 'vitest';
import { declaredArrows } from '../support/session-model.ts';
import { tour } from '../support/session-tour.ts';

const seed = Number(process.env['SEED'] ?? 1);
const rounds = Number(process.env['ROUNDS'] ?? 100);

describe('the session and its machine', () => {
  it('agree on every pair of state and move of a tour', async () => {
    const compare = (real: object, model: object) => expect(real).toEqual(model);
    const { states, pairs, arrows } = await tour({ seed, rounds, compare });
    const declared = declaredArrows();
    const taken = [...declared].filter((arrow) => arrows.has(arrow));
    process.stdout.write(
      `${states} states, ${pairs} pairs, ${taken.length} of ${declared.size} arrows\n`,
    );
    expect(states).toBeGreaterThan(150);
    expect(pairs).toBeGreaterThan(800);
    // The others need a broken storage, a stream, a copy or two answers at once: the tests of
    // saving, drafts, pages and conflicts, and the walks, take them.
    expect(taken.length).toBeGreaterThan(85);
  });
});
