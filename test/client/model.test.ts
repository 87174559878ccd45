// The real session does what the machine says. A tour makes every move in every state that it
// reaches on both, and compares; the shortest ways to all states of the machine are gone on both.
// Tour and stories together take every arrow. The tour falls the same way each time; SEED and
// ROUNDS change it.

import { describe, expect, it } from 'vitest';
import { settle } from '../../client/testing/index.ts';
import { besideXState, declaredArrows } from '../support/beside-xstate.ts';
import { modelState, realState, startPair } from '../support/session-model.ts';
import { sessionPageRows } from '../support/session-page-rows.ts';
import { sessionRows } from '../support/session-rows.ts';
import { tour } from '../support/session-tour.ts';
import { goWay, sessionWays } from '../support/session-ways.ts';
import { stage } from '../support/sessions.ts';

const seed = Number(process.env['SEED'] ?? 1);
const rounds = Number(process.env['ROUNDS'] ?? 100);
const compare = (real: object, model: object) => expect(real).toEqual(model);

describe('the session and its machine', () => {
  const taken = new Set<string>();

  it('agree on every pair of state and move of a tour', async () => {
    const { states, pairs, arrows } = await tour({ seed, rounds, compare });
    for (const arrow of arrows) taken.add(arrow);
    process.stdout.write(`${states} states, ${pairs} pairs, ${arrows.size} arrows\n`);
    expect(states).toBeGreaterThan(150);
    expect(pairs).toBeGreaterThan(800);
  });

  it('agree along the shortest way to every state within seven events', async () => {
    const ways = sessionWays();
    let arrived = 0;
    for (const way of ways) {
      const pair = startPair(new Set());
      if (await goWay(pair, way, () => compare(realState(pair), modelState(pair)))) arrived += 1;
      pair.real.page.crash();
      pair.model.stop();
    }
    process.stdout.write(`${ways.length} ways, ${arrived} arrived\n`);
    expect(ways.length).toBeGreaterThan(60);
    expect(arrived).toBeGreaterThan(60);
  });

  it('have no arrow that tour and stories do not take', async () => {
    const logic = besideXState(taken);
    for (const [, play] of [...sessionRows, ...sessionPageRows]) {
      const at = stage({ parts: { logic } });
      await play(at);
      await settle();
    }
    const declared = [...declaredArrows()];
    expect(declared.length).toBeGreaterThan(150);
    expect(declared.filter((arrow) => !taken.has(arrow))).toEqual([]);
  });
});
