// A client of node-postgres in a process that dies, or whose connection breaks, at the n-th
// statement that is sent through any of its clients. For walking through every point of a piece of
// work, in one process.
//
// - A dead process does nothing more: whatever it asks is never answered, and its connections are
//   cut. What waits for it waits for ever, as it would.

import pg from 'pg';
import { cutConnection } from '../../persistence/cut-connection.ts';
import { signal } from './signal.ts';

/**
 * `killed`: the process dies as it is about to send; what it sent before may be under way.
 * `unanswered`: it lives, and the connection breaks when the server has answered.
 */
export type Fate = 'killed' | 'unanswered';

export interface DyingClient {
  readonly clientClass: new (config?: string | pg.ClientConfig) => pg.Client;
  /** Statements that were sent. */
  readonly count: () => number;
  /** Resolves when its fate has come. */
  readonly struck: Promise<void>;
}

type Send = (...parts: readonly unknown[]) => unknown;

const forEver = () => new Promise<never>(() => undefined);

/** A client whose fate comes at statement `point`, counted from 1; never for 0. */
export function dyingClient(point: number, fate: Fate): DyingClient {
  const clients = new Set<pg.Client>();
  const { given: struck, give: strike } = signal();
  let count = 0;
  let isDead = false;

  function die(): Promise<never> {
    isDead = true;
    for (const client of clients) cutConnection(client);
    strike();
    return forEver();
  }

  class DyingClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      clients.add(this);
      const send = this.query.bind(this) as Send;
      const dying: Send = (...query) => {
        if (isDead) return forEver();
        count += 1;
        if (count !== point) return send(...query);
        if (fate === 'killed') return die();
        const answered = (send(...query) as Promise<unknown>).then(
          () => undefined,
          () => undefined,
        );
        return answered.then(() => {
          cutConnection(this);
          strike();
          throw new Error('the connection was cut before the answer came');
        });
      };
      this.query = dying as typeof this.query;
    }
  }
  return { clientClass: DyingClient, count: () => count, struck };
}
