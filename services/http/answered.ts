// What is said of a request when it is over, however that was: a line in the log, and whatever else
// wants to know.
//
// - No header field is logged, so no token is; nor is the query, which may name people.
// - What probes ask all the time is said at the level of debugging.

import type { Request, Response } from 'express';
import type { Logger } from 'pino';

export interface Answered {
  readonly method: string;
  /** The route's path with its parameters' names; undefined: none was found. */
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number;
}

const clientClosed = 499;
const quiet: readonly unknown[] = ['/healthz', '/readyz', '/metrics'];

/** Makes what tells of a request once it is over. */
export function tellAnswered(log: Logger, tell: (answer: Answered) => void) {
  return (request: Request, response: Response): void => {
    const begun = performance.now();
    response.once('close', () => {
      const { requestId, route, principal } = response.locals;
      const status = response.writableFinished ? response.statusCode : clientClosed;
      const ms = Math.round((performance.now() - begun) * 10) / 10;
      const { method, path } = request;
      const entry = { requestId, method, path, route, status, ms, sub: principal };
      if (quiet.includes(route)) log.debug(entry, 'http: answered');
      else if (status >= 500) log.warn(entry, 'http: answered');
      else log.info(entry, 'http: answered');
      tell({ method, route, status, ms });
    });
  };
}
