// How many runs ended in the last second or so: as many are worth claiming ahead. A worker that
// claims more than it can begin soon keeps runs from others that are idle, and makes more of them
// wait for a lease if it dies.

const windowMs = 1000;

export interface EndedRate {
  add(): void;
  /** Runs that ended in the window before, or in this one if those are more. */
  recent(): number;
}

export function endedRate(now: () => number = () => performance.now()): EndedRate {
  let since = now();
  let current = 0;
  let previous = 0;
  const shift = (): void => {
    const windows = Math.floor((now() - since) / windowMs);
    if (windows === 0) return;
    previous = windows === 1 ? current : 0;
    current = 0;
    since += windows * windowMs;
  };
  return {
    add() {
      shift();
      current += 1;
    },
    recent() {
      shift();
      return Math.max(previous, current);
    },
  };
}
