// Dice that fall the same way for the same seed.

export interface Dice {
  /** From 0 up to, not including, 1. */
  readonly next: () => number;
  readonly below: (end: number) => number;
  readonly chance: (probability: number) => boolean;
  pick<T>(from: readonly T[]): T;
}

/** mulberry32. Source: https://github.com/bryc/code/blob/master/jshash/PRNGs.md */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick(from) {
      const found = from[below(from.length)];
      if (found === undefined) throw new Error('There is nothing to pick from.');
      return found;
    },
  };
}
