// A tour through the states of the session: it makes every move in every state that it reaches, on
// the machine and on the real session, and compares the two after each.

import { diceOf } from './dice.ts';
import {
  keyOf,
  type Move,
  makeMove,
  modelState,
  moves,
  type Pair,
  realState,
  startPair,
} from './session-model.ts';

/** How far a tour goes before it begins anew, so that no story is too long to be read. */
const longest = 40;

export interface TourReport {
  readonly states: number;
  readonly pairs: number;
  readonly arrows: ReadonlySet<string>;
}

export interface TourOptions {
  readonly seed: number;
  readonly rounds: number;
  /** Compares, and throws where the two differ. */
  readonly compare: (real: object, model: object) => void;
}

/** What was tried in which state, and where it led. */
function atlas() {
  const tried = new Map<string, Set<string>>();
  const ways = new Map<string, Map<string, string>>();
  const untried = (key: string): readonly Move[] =>
    moves.filter(({ name }) => !tried.get(key)?.has(name));
  return {
    tried,
    untried,
    note(key: string, move: Move, to: string | undefined) {
      tried.set(key, (tried.get(key) ?? new Set()).add(move.name));
      if (to !== undefined) ways.set(key, (ways.get(key) ?? new Map()).set(move.name, to));
    },
    /** The first move of a shortest way to a state with something untried. */
    towards(start: string): Move | undefined {
      const queue: (readonly [string, string | undefined])[] = [[start, undefined]];
      const seen = new Set([start]);
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [key, first] = next;
        if (first !== undefined && untried(key).length > 0) {
          return moves.find(({ name }) => name === first);
        }
        for (const [name, to] of ways.get(key) ?? []) {
          if (!seen.has(to)) queue.push([to, first ?? name]);
          seen.add(to);
        }
      }
      return undefined;
    },
  };
}

export async function tour({ seed, rounds, compare }: TourOptions): Promise<TourReport> {
  const dice = diceOf(seed);
  const map = atlas();
  const arrows = new Set<string>();
  let pairs = 0;

  const round = async (pair: Pair): Promise<void> => {
    const story: string[] = [];
    for (let i = 0; i < longest; i += 1) {
      const key = keyOf(pair);
      const untried = map.untried(key);
      // States are told apart by what matters, not by all; a way may lead elsewhere than last time.
      const known = dice.chance(0.8) ? map.towards(key) : dice.pick(moves);
      const move = untried.length > 0 ? dice.pick(untried) : known;
      if (!move) return;
      const made = await makeMove(pair, move);
      map.note(key, move, made ? keyOf(pair) : undefined);
      if (!made) continue;
      story.push(move.name);
      if (untried.length > 0) pairs += 1;
      compare({ story, ...realState(pair) }, { story, ...modelState(pair) });
      if (pair.model.getSnapshot().matches({ holding: 'ended' } as never)) return;
    }
  };
  for (let i = 0; i < rounds; i += 1) {
    const pair = startPair(arrows);
    await makeMove(pair, { name: 'start', make: () => true });
    await round(pair);
    pair.real.page.crash();
    pair.model.stop();
  }
  return { states: map.tried.size, pairs, arrows };
}
