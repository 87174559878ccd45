// One run in its handler's hands: the context that the handler is given, and its time limit.

import type { Machine } from '../../machines/status-machine.ts';
import type { Hold } from './hold.ts';
import type { RunContext } from './work.ts';

export interface HandlingOptions<M extends Machine> {
  readonly leaseMs: number;
  readonly timeoutMs: number;
  /** Told when the time limit passes, before the handler is. */
  readonly onLate: (hold: Hold<M>) => void;
}

/**
 * A class for once: an object with a getter for each run was a tenth of the time of a quick one.
 * The signal is made when it is asked for, because it costs more than everything else here.
 */
export class Handling<M extends Machine> implements RunContext {
  readonly #hold: Hold<M>;
  readonly #options: HandlingOptions<M>;
  readonly #aborting = new AbortController();
  #limit: NodeJS.Timeout;

  constructor(hold: Hold<M>, options: HandlingOptions<M>) {
    this.#hold = hold;
    this.#options = options;
    this.#limit = setTimeout(pass, options.timeoutMs, this);
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  // Handlers take their context apart, so these cannot be methods.
  readonly remainingMs = (): number => this.#hold.expiresAt - performance.now();

  readonly extend = (since: number): void => {
    const { leaseMs, timeoutMs } = this.#options;
    this.#hold.expiresAt = since + leaseMs;
    clearTimeout(this.#limit);
    this.#limit = setTimeout(pass, since + timeoutMs - performance.now(), this);
  };

  abort(reason: Error): void {
    this.#aborting.abort(reason);
  }

  pass(): void {
    const { onLate, timeoutMs } = this.#options;
    onLate(this.#hold);
    this.abort(new Error(`no end within ${timeoutMs} ms`));
  }

  end(): void {
    clearTimeout(this.#limit);
  }
}

function pass(handling: { pass(): void }): void {
  handling.pass();
}
