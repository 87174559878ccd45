// The real session does what the machine says: every move in every state that a tour reaches is made
// on both.

import { describe, expect, it } from 'vitest';
import { declaredArrows } from '../support/session-model.ts';
import { tour } from '../support/session-tour.ts';

describe('the session and its machine', () => {
  it('agree on every pair of state and move of a tour', async () => {
    const { states, pairs, arrows } = await tour({
      ...{ seed: Number(process.env['SEED'] ?? 1), rounds: Number(process.env['ROUNDS'] ?? 150) },
      compare: (real, model) => expect(real).toEqual(model),
    });
    const declared = declaredArrows();
    const untaken = [...declared].filter((arrow) => !arrows.has(arrow)).toSorted();
    process.stdout.write(
      `${states} states, ${pairs} pairs, ${untaken.length} of ${declared.size} untaken\n`,
    );
    process.stdout.write(untaken.join('\n'));
    expect(pairs).toBeGreaterThan(1000);
  });
});
