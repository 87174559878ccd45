// The HTTP frame: what every request goes through, whatever it asks for. server.ts gives it the
// route tables; it knows no domain.
//
// - Every request has an id: the client's X-Request-Id if it is one, else a new one. It is in the
//   answer, in a problem and in the log.
// - One error middleware. What is not a problem is logged whole and answered without a word of it.

import { randomUUID } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Database } from '../../persistence/database.ts';
import type { Readiness } from '../readiness.ts';
import { printed, send } from './answer.ts';
import { type Answered, tellAnswered } from './answered.ts';
import { guardHeaders } from './guard-headers.ts';
import { healthRoutes } from './health.ts';
import type { Identify } from './identity.ts';
import { frame, type Problem, ProblemError, type ProblemKind, problem } from './problem.ts';
import type { Route } from './route.ts';
import { routerOf } from './router.ts';

/** What there is once the process has started. */
export interface Served {
  readonly routes: readonly Route[];
  readonly database: Database;
}

export interface AppOptions {
  readonly log: Logger;
  readonly readiness: Pick<Readiness, 'phase' | 'state' | 'isAway'>;
  readonly identify: Identify;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
  /** Told of each request once it is over. */
  readonly answered?: (answer: Answered) => void;
  /** Asked at the first request behind the start. */
  readonly served: () => Served;
}

const requestId = /^[A-Za-z0-9._~-]{1,128}$/;

/** What express and its parsers throw: http-errors, by their `type` and `status`. */
const httpError = z.object({
  status: z.int().min(400).max(499),
  type: z.string().default(''),
  limit: z.int().optional(),
});

const kinds: Readonly<Record<string, ProblemKind>> = {
  'entity.parse.failed': frame.malformedJson,
  'encoding.unsupported': frame.mediaType,
  'charset.unsupported': frame.mediaType,
};

function problemOf(error: unknown): Problem | undefined {
  if (error instanceof ProblemError) return error.problem;
  const { data } = httpError.safeParse(error);
  if (!data) return undefined;
  const { type, limit } = data;
  if (type === 'entity.too.large') {
    return problem(frame.bodyTooLarge, `At most ${limit} bytes are taken here.`, {
      members: { limit },
    });
  }
  return problem(
    kinds[type] ?? frame.malformed,
    'The request was refused before anything was done.',
  );
}

export function createApp(options: AppOptions): Express {
  const { log, readiness, identify, stopping, served } = options;
  const app = express();
  app.disable('x-powered-by').set('etag', false).set('query parser', 'simple');

  const tell = tellAnswered(log, options.answered ?? (() => undefined));
  const headers = guardHeaders();
  app.use((request, response, next) => {
    tell(request, response);
    for (const [name, value] of headers) response.setHeader(name, value);
    const given = request.headers['x-request-id'];
    const id = typeof given === 'string' && requestId.test(given) ? given : randomUUID();
    response.locals['requestId'] = id;
    response.setHeader('X-Request-Id', id);
    response.setHeader('Cache-Control', 'no-store');
    // Decoded it is a character that no text of ours can have.
    if (!request.url.includes('%00')) return next();
    throw new ProblemError(problem(frame.malformed, 'A path or a query cannot hold NUL.'));
  });
  app.use(routerOf(healthRoutes(readiness), { identify, stopping }));
  let router: RequestHandler | undefined;
  app.use((request, response, next) => {
    if (readiness.phase === 'starting') {
      throw new ProblemError(problem(frame.starting, 'The service is not ready yet. Ask /readyz.'));
    }
    if (!router) {
      const { routes, database } = served();
      router = routerOf(routes, { identify, stopping, database });
    }
    return router(request, response, next);
  });
  app.use(() => {
    throw new ProblemError(problem(frame.notFound, 'No route has this path.'));
  });

  async function awayProblem(error: unknown): Promise<Problem | undefined> {
    if (!(await readiness.isAway(error))) return undefined;
    const detail = 'Whether the request took effect is not known if it was to write something.';
    return problem(frame.databaseAway, detail);
  }

  const onError: ErrorRequestHandler = async (error, request, response, next) => {
    const found = problemOf(error) ?? (await awayProblem(error));
    if (found === undefined || found.kind.status >= 500) {
      const about = { requestId: response.locals['requestId'], method: request.method };
      log.error({ ...about, err: error, path: request.path }, 'http: a request failed');
    }
    // Half an answer cannot be taken back: express cuts the connection, so that it is seen as half.
    if (response.headersSent) return next(error);
    const unknown = problem(frame.internal, 'It was written to the log, under the request id.');
    send(response, printed({}, found ?? unknown, String(response.locals['requestId'])));
  };
  app.use(onError);
  return app;
}
