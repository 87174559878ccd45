// The HTTP frame: what every request goes through, whatever it asks for. server.ts gives it the
// routers; it knows no domain.
//
// - There is no identity check yet, so only requests to this machine by its own names are answered.
//   Otherwise any web page could reach the service through a name of its own that points here.
// - One error middleware. What is not a Problem is logged whole and answered without a word of it.

import express, { type ErrorRequestHandler, type Express, Router } from 'express';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Readiness } from '../readiness.ts';
import { answerProblem, Problem, type ProblemCode } from './problem.ts';

export interface AppOptions {
  readonly log: Logger;
  /** Asked at each request: there are none while the process starts. */
  readonly routers: () => readonly Router[];
  readonly readiness: Pick<Readiness, 'phase' | 'state' | 'isAway'>;
}

const ownHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/** What express and its parsers throw: http-errors, by their `type` and `status`. */
const httpError = z.object({ status: z.int().min(400).max(499), type: z.string().default('') });

const codes: Readonly<Record<string, ProblemCode>> = {
  'entity.parse.failed': 'malformed_json',
  'entity.too.large': 'body_too_large',
  'encoding.unsupported': 'unsupported_media_type',
  'charset.unsupported': 'unsupported_media_type',
};

function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  const { data } = httpError.safeParse(error);
  if (!data) return undefined;
  const code = codes[data.type] ?? 'malformed_request';
  return new Problem(code, 'The request was refused before anything was done.');
}

function together(routers: readonly Router[]): Router {
  const all = Router();
  for (const router of routers) all.use(router);
  return all;
}

export function createApp({ log, routers, readiness }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by').set('etag', false).set('query parser', 'simple');

  app.use((request, response, next) => {
    response.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' });
    if (ownHost.test(request.headers.host ?? '')) return next();
    throw new Problem('foreign_host', 'This service answers to localhost and 127.0.0.1 only.');
  });
  app.get('/healthz', (_request, response) => {
    const stopping = readiness.phase === 'stopping';
    response.status(stopping ? 503 : 200).json({ status: stopping ? 'stopping' : 'ok' });
  });
  app.get('/readyz', async (_request, response) => {
    const status = await readiness.state();
    response.status(status === 'ready' ? 200 : 503).json({ status });
  });
  let router: Router | undefined;
  app.use((request, response, next) => {
    if (readiness.phase === 'starting') {
      throw new Problem('starting', 'The service is not ready yet. Ask /readyz.');
    }
    router ??= together(routers());
    router(request, response, next);
  });
  app.use(() => {
    throw new Problem('not_found', 'No route has this method and path.');
  });

  async function awayProblem(error: unknown): Promise<Problem | undefined> {
    if (!(await readiness.isAway(error))) return undefined;
    const detail = 'Whether the request took effect is not known if it was to write something.';
    return new Problem('database_away', detail);
  }

  const onError: ErrorRequestHandler = async (error, request, response, next) => {
    const problem = problemOf(error) ?? (await awayProblem(error));
    if (problem === undefined || problem.code === 'database_away')
      log.error({ err: error, method: request.method, url: request.url }, 'http: a request failed');
    // Half an answer cannot be taken back: express cuts the connection, so that it is seen as half.
    if (response.headersSent) return next(error);
    answerProblem(response, problem ?? new Problem('internal_error', 'It was written to the log.'));
  };
  app.use(onError);
  return app;
}
