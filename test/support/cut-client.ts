// A client class that dies at one statement, as a killed process does: from then on nothing is
// sent, and all its connections are cut. The count goes over all clients of one class.

import pg from 'pg';
import type { ClientClass } from '../../persistence/branch-session.ts';

type Moment = 'before' | 'sent' | 'after';

export interface Death {
  readonly clientClass: ClientClass;
  /** The statements that were sent, in order. */
  readonly statements: readonly string[];
  isDead(): boolean;
}

class DeadError extends Error {
  override readonly name = 'DeadError';
}

/** @param at the number of the statement, from 0 on; Infinity: none. */
export function dyingAt(at: number, moment: Moment): Death {
  const statements: string[] = [];
  const clients = new Set<pg.Client>();
  let dead = false;
  let count = 0;

  function die(): never {
    dead = true;
    for (const client of clients) {
      const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
      connection.stream.destroy();
    }
    throw new DeadError('killed');
  }

  class DyingClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      clients.add(this);
    }
    // The signatures of node-postgres are too many to repeat.
    override query = (async (text: string, values?: unknown[]) => {
      const mine = count;
      count += 1;
      if (dead || (mine === at && moment === 'before')) die();
      statements.push(text);
      const answer = super.query(text, values);
      if (mine === at && moment === 'sent') {
        answer.catch(() => undefined);
        // One turn, so that it is on its way.
        await new Promise(setImmediate);
        die();
      }
      const result = await answer;
      if (mine === at) die();
      return result;
    }) as unknown as pg.Client['query'];
  }
  return { clientClass: DyingClient, statements, isDead: () => dead };
}
