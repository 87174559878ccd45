// A database whose transactions fail as a test says, each at the end that it chooses.

import type { Database } from '../../persistence/database.ts';

export interface Sick extends Database {
  /** The next transactions fail with this before they begin. */
  refuse(error: Error, times: number): void;
  /** The next transaction of this kind commits, and its caller is told of this error instead. */
  swallow(error: Error, isMeant?: (result: unknown) => boolean): void;
}

export function sick(database: Database): Sick {
  let refusals: Error[] = [];
  let swallowing: { readonly error: Error; readonly isMeant: (result: unknown) => boolean }[] = [];
  const transaction = () => {
    const real = database.db.transaction();
    const execute: typeof real.execute = async (work) => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      const result = await real.execute(work);
      const found = swallowing.find(({ isMeant }) => isMeant(result));
      swallowing = swallowing.filter((each) => each !== found);
      if (found) throw found.error;
      return result;
    };
    return { execute };
  };
  const db = new Proxy(database.db, {
    get: (target, name) => {
      if (name === 'transaction') return transaction;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    ...database,
    db,
    refuse(error, times) {
      refusals = [...refusals, ...Array.from({ length: times }, () => error)];
    },
    swallow(error, isMeant = () => true) {
      swallowing.push({ error, isMeant });
    },
  };
}
