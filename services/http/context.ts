// What a handler is given: route.ts has its types. A class, because a literal with a getter and
// spread parts for each request took longer than what most handlers do.

import type { Response } from 'express';
import type { Tx } from '../../persistence/transaction.ts';
import type { Body } from './body.ts';
import type { Input } from './input.ts';
import type { Principal } from './route.ts';

export interface About {
  readonly input: Input;
  readonly requestId: string;
  readonly principal: Principal | undefined;
  readonly response: Response;
}

export class HandlerContext {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
  readonly textOf: Body['textOf'];
  readonly requestId: string;
  /** A route with a scope has one, which the types of `route` say. */
  readonly principal: Principal & undefined;
  readonly tx: Tx & undefined;
  readonly #response: Response;
  #signal: AbortSignal | undefined;

  constructor({ input, requestId, principal, response }: About, body: Body, tx?: Tx) {
    this.params = input.params;
    this.query = input.query;
    this.headers = input.headers;
    this.body = body.value;
    this.textOf = body.textOf;
    this.requestId = requestId;
    this.principal = principal as Principal & undefined;
    this.tx = tx as Tx & undefined;
    this.#response = response;
  }

  /** Aborted when the client is gone. Made when it is asked for: most handlers do not. */
  get signal(): AbortSignal {
    if (this.#signal) return this.#signal;
    const gone = new AbortController();
    const response = this.#response;
    const check = () => {
      if (!response.writableFinished) gone.abort();
    };
    if (response.destroyed) check();
    else response.once('close', check);
    this.#signal = gone.signal;
    return gone.signal;
  }
}
