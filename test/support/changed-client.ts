// A client of node-postgres that changes the kernel's statements on their way to the database: how
// a known bug is put into the kernel without touching its source.

import pg from 'pg';

/** Changes a text, or returns it as it is where there is nothing to change. */
export type Rewrite = (text: string) => string;

/** Told of each kernel statement and of what came back, before its caller is. */
export type Overhear = (text: string, answers: readonly (readonly unknown[])[]) => Promise<void>;

export interface ChangedClient {
  readonly clientClass: new (config?: string | pg.ClientConfig) => pg.Client;
  /** How many statements were sent changed. */
  readonly changed: () => number;
}

interface Query {
  readonly text: string;
  readonly name?: string;
}
type Send = (...parts: readonly unknown[]) => unknown;

const isKernels = (query: unknown): query is Query =>
  typeof query === 'object' &&
  query !== null &&
  'text' in query &&
  typeof query.text === 'string' &&
  /\bheld as materialized|skip locked/.test(query.text);

export function changedClient(rewrite: Rewrite, overhear?: Overhear): ChangedClient {
  let count = 0;
  const changedQuery = (query: Query): Query => {
    const text = rewrite(query.text);
    if (text === query.text) return query;
    count += 1;
    // The same name would be the unchanged statement where a connection has it already.
    return { ...query, text, ...(query.name && { name: `changed.${query.name.slice(-50)}` }) };
  };
  class ChangedClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      const send = this.query.bind(this) as Send;
      const changed: Send = (query, ...rest) => {
        if (!isKernels(query)) return send(query, ...rest);
        const answer = send(changedQuery(query), ...rest);
        if (!overhear) return answer;
        return (answer as Promise<pg.QueryArrayResult>).then(async (result) => {
          await overhear(query.text, result.rows);
          return result;
        });
      };
      this.query = changed as typeof this.query;
    }
  }
  return { clientClass: ChangedClient, changed: () => count };
}
