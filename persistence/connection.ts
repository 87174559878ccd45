// One connection as the dialect uses it: a node-postgres client from the pool, from its check-out
// to its release.
//
// - BEGIN asks for READ COMMITTED and carries the limits, in one message that the first statement
//   does not wait for (node-postgres's pipeline mode).
// - A query with `savepoint` is sent between SAVEPOINT and RELEASE, without waiting for either: if
//   it fails, the transaction is as it was before it.
// - A query that says it is the `last` takes COMMIT with it, in the same write. Where it fails the
//   server makes a ROLLBACK of that.
// - Rolling back never throws: a connection on which it failed is closed, and so its transaction
//   ends.
// - A connection that is lost between two statements tells whoever sends the next one why it was.
// - Every wait for the server ends: beside the server's own limits this process watches the time,
//   because a server that cannot be heard any more (a half-open connection) says nothing.

import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type pg from 'pg';
import { cutConnection } from './cut-connection.ts';
import { type Limits, limitsText } from './limits.ts';
import { hangsUp, sqlstateOf } from './sqlstate.ts';

/** A query of the kernel: what Kysely passes through untouched, and what is made of it here. */
export interface KernelQuery extends CompiledQuery {
  readonly name?: string;
  readonly savepoint?: boolean;
  /** With `savepoint` or as the `last`: by the plan for any values, made once a connection. */
  readonly generic?: boolean;
  /** Nothing of its transaction follows: COMMIT does not wait for its answer. */
  readonly last?: boolean;
  /** Rows as arrays of the text that Postgres sent: the kernel decodes what is looked at. */
  readonly raw?: boolean;
  /**
   * What is sent in the same write, without waiting for an answer. It must bear that what it
   * follows did nothing. Where one of all fails, so does the query.
   */
  readonly behind?: readonly Pick<KernelQuery, 'sql' | 'parameters' | 'name'>[];
}

const byGenericPlan = 'set local plan_cache_mode = force_generic_plan';
const longestTimerMs = 2 ** 31 - 1;
const rawTypes: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** The connection broke while COMMIT was under way: whether it took effect is not known. */
export class CommitInDoubtError extends Error {
  override readonly name = 'CommitInDoubtError';
  readonly code = 'commit_in_doubt';
}

/** A statement had failed, so COMMIT rolled back. Somebody swallowed that statement's error. */
export class TransactionAbortedError extends Error {
  override readonly name = 'TransactionAbortedError';
  readonly code = 'transaction_aborted';
}

export interface ConnectionOptions {
  readonly named: boolean;
  readonly limits: Limits;
  readonly serverVersion: number;
}

interface Sent {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
  readonly queryMode?: 'extended';
  readonly rowMode?: 'array';
  readonly types?: pg.CustomTypesConfig;
}

interface Corkable {
  cork(): void;
  uncork(): void;
}

export class Connection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #options: ConnectionOptions;
  #begun: Promise<unknown> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #broken: Error | undefined;
  #gathering: Corkable | undefined;
  /** COMMIT went with the last statement. */
  #isOver = false;

  constructor(client: pg.PoolClient, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
    // The pool listens to idle clients only. Without a listener the error of a connection that is
    // lost while somebody has it would end the process.
    client.on('error', this.#lose);
  }

  readonly #lose = (error: Error): void => {
    this.#broken ??= error;
  };

  /**
   * What is sent until `#flush`, or until the event loop turns, goes to the server in one write.
   * Five writes were half of the time that this process spent on a single enqueue.
   */
  #gather(): void {
    if (this.#gathering) return;
    const { connection } = this.#client as unknown as { connection: { stream: Corkable } };
    this.#gathering = connection.stream;
    this.#gathering.cork();
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#gathering?.uncork();
    this.#gathering = undefined;
  };

  async #send(query: Sent): Promise<pg.QueryArrayResult & pg.QueryResult> {
    if (this.#broken) throw this.#broken;
    try {
      return await this.#client.query(query as pg.QueryArrayConfig & { values: unknown[] });
    } catch (error) {
      const state = sqlstateOf(error);
      if (!(error instanceof Error) || (state && !hangsUp(state))) throw error;
      this.#lose(error);
      throw this.#broken;
    }
  }

  #extended({ sql, parameters, name }: Pick<KernelQuery, 'sql' | 'parameters' | 'name'>): Sent {
    const named = this.#options.named && name !== undefined && { name };
    return { text: sql, values: parameters, queryMode: 'extended', ...named };
  }

  async executeQuery<R>(query: KernelQuery): Promise<QueryResult<R>> {
    const sent: Sent = {
      ...this.#extended(query),
      ...(query.raw && { rowMode: 'array', types: rawTypes }),
    };
    const result = this.#begun ? await this.#within(query, sent) : await this.#alone(sent);
    const changes = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(result.command);
    return {
      rows: result.rows as R[],
      ...(changes && { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    };
  }

  async #within(query: KernelQuery, sent: Sent) {
    if (this.#isOver) throw new Error('a statement was sent after the last one');
    if (this.#broken) throw this.#broken;
    this.#isOver = query.last === true;
    this.#gather();
    const answer = query.savepoint ? this.#guarded(sent, query.generic) : this.#bare(sent, query);
    const behind = (query.behind ?? []).map((each) => this.#send(this.#extended(each)));
    if (query.last) behind.push(this.#send({ text: 'commit' }));
    this.#flush();
    const [result, begun, ...others] = await Promise.allSettled([answer, this.#begun, ...behind]);
    if (query.last && this.#broken) throw this.#inDoubt(this.#broken);
    if (begun.status === 'rejected') throw this.#unbegun(begun.reason);
    if (result.status === 'rejected') throw result.reason;
    for (const other of others) if (other.status === 'rejected') throw other.reason;
    return result.value;
  }

  #bare(sent: Sent, { generic = false }: KernelQuery) {
    // Where it fails so does what follows it.
    if (generic) void this.#send({ text: byGenericPlan }).catch(() => undefined);
    return this.#send(sent);
  }

  readonly #inDoubt = (cause: unknown): CommitInDoubtError =>
    new CommitInDoubtError('the answer to COMMIT was lost', { cause });

  /**
   * A BEGIN that was cancelled, while the connection lives, leaves the statement behind it to
   * commit by itself: nobody knows, and nothing more may follow.
   */
  #unbegun(reason: unknown): unknown {
    if (this.#broken) return reason;
    this.#lose(new Error('the transaction was not begun', { cause: reason }));
    const message = 'BEGIN failed, and the statement behind it may have taken effect';
    return new CommitInDoubtError(message, { cause: reason });
  }

  async #alone(sent: Sent) {
    this.#watch();
    try {
      return await this.#send(sent);
    } finally {
      clearTimeout(this.#timer);
    }
  }

  async #guarded(sent: Sent, generic = false): Promise<pg.QueryArrayResult & pg.QueryResult> {
    const planned = generic ? `; ${byGenericPlan}` : '';
    const unplanned = generic ? '; set local plan_cache_mode to default' : '';
    const before = this.#send({ text: `savepoint kernel${planned}` });
    const answer = this.#send(sent);
    const release = this.#send({ text: `release savepoint kernel${unplanned}` });
    const [, result, released] = await Promise.allSettled([before, answer, release]);
    if (result.status === 'fulfilled' && released.status === 'fulfilled') return result.value;
    if (!this.#broken) {
      await this.#send({ text: 'rollback to savepoint kernel; release savepoint kernel' });
    }
    throw result.status === 'rejected' ? result.reason : (released as PromiseRejectedResult).reason;
  }

  begin(): void {
    this.#isOver = false;
    const { limits, serverVersion } = this.#options;
    const text = `begin isolation level read committed; ${limitsText(limits, serverVersion)}`;
    this.#gather();
    this.#begun = this.#send({ text });
    // The first statement waits for it; until then nobody else does.
    this.#begun.catch(() => undefined);
    this.#watch();
  }

  /**
   * Ends the session, and with it its locks, when the time is over: the server's own limit from
   * Postgres 17 on, where this one comes a little later, for a server that cannot be heard.
   */
  #watch(): void {
    const { limits, serverVersion } = this.#options;
    const { transactionMs } = limits;
    const later = serverVersion < 170_000 ? transactionMs : transactionMs * 1.1 + 100;
    const ms = Math.min(later, longestTimerMs);
    this.#timer = setTimeout(() => {
      this.#lose(new Error('the transaction took longer than its limit'));
      cutConnection(this.#client);
    }, ms);
  }

  async commit(): Promise<void> {
    if (this.#isOver) {
      this.#end();
      return;
    }
    let sent = false;
    try {
      await this.#begun;
      sent = this.#broken === undefined;
      const { command } = await this.#send({ text: 'commit' });
      if (command === 'ROLLBACK') {
        throw new TransactionAbortedError('a failed statement had aborted the transaction');
      }
    } catch (error) {
      if (!sent || !this.#broken) throw error;
      throw this.#inDoubt(error);
    } finally {
      this.#end();
    }
  }

  async rollback(): Promise<void> {
    try {
      if (!this.#broken && !this.#isOver) await this.#send({ text: 'rollback' });
    } catch (error) {
      this.#lose(error instanceof Error ? error : new Error('rollback failed'));
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#begun = undefined;
    clearTimeout(this.#timer);
  }

  release(): void {
    this.#client.release(this.#broken);
    this.#client.off('error', this.#lose);
  }

  // biome-ignore lint/correctness/useYield: streaming is not offered, and says so.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not offered: read pages by key');
  }
}
