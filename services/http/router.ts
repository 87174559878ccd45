// The route table as an express router: for each route who may call it, then what was sent, then
// the handler, then the answer.
//
// - In this order: a stranger learns nothing of the schemas, and no body is read before it is known
//   whose it is.
// - A path that is known answers every other method with 405.
// - The signal of a handler is aborted when its client is gone before the answer.

import { isIP } from 'node:net';
import { type Request, type Response, Router } from 'express';
import type { Database } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';
import { type Identify, insufficientScope, unauthenticated } from './identity.ts';
import { bodyReader, readParameters } from './input.ts';
import { answerProblem, frame, type Problem, ProblemError, problem } from './problem.ts';
import { isProblem, type Principal, type Reply, type Route } from './route.ts';

export interface RouterOptions {
  readonly identify: Identify;
  /** Absent where no route needs one, as while the service starts. */
  readonly database?: Database;
}

const ownName = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;
const forwarding = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** By its own name: any web page can have a name of its own point to this machine. */
function isLocal({ socket, headers }: Request): boolean {
  const peer = socket.remoteAddress ?? '';
  const loopback = isIP(peer) > 0 && /^(::ffff:)?127\.|^::1$/.test(peer);
  const direct = forwarding.every((name) => headers[name] === undefined);
  return loopback && direct && ownName.test(headers.host ?? '');
}

async function admit(route: Route, request: Request, identify: Identify) {
  const { scope } = route;
  if (scope === 'public') return undefined;
  if (scope === 'local') {
    if (isLocal(request)) return undefined;
    const detail = 'Ask from the machine that the service runs on, by localhost or 127.0.0.1.';
    throw new ProblemError(problem(frame.notLocal, detail));
  }
  const identified = await identify(request.headers.authorization);
  if ('fault' in identified) throw new ProblemError(unauthenticated(identified.fault));
  if (identified.principal.scopes.has(scope)) return identified.principal;
  throw new ProblemError(insufficientScope(scope));
}

function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function answer(response: Response, route: Route, reply: Reply | Problem): void {
  if (isProblem(reply)) {
    answerProblem(response, reply);
    return;
  }
  const { status, body, text, location, headers = {} } = reply;
  response.status(status).set(headers);
  if (location !== undefined) response.location(location);
  const { mediaType = 'application/json' } = route;
  const printed = () => (mediaType === 'application/json' ? JSON.stringify(body) : String(body));
  response.type(mediaType).send(text ?? printed());
}

/** A problem on its way out of a transaction that is not to be committed. */
class RolledBack extends Error {
  readonly found: Problem;

  constructor(found: Problem) {
    super(found.detail);
    this.found = found;
  }
}

async function inTransaction(
  database: Database | undefined,
  handle: (tx: NonNullable<Parameters<Route['handle']>[0]['tx']>) => Promise<Reply | Problem>,
): Promise<Reply | Problem> {
  if (!database) throw new Error('an idempotent route needs a database');
  try {
    return await transaction(database, async (tx) => {
      const reply = await handle(tx);
      if (isProblem(reply)) throw new RolledBack(reply);
      return reply;
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.found;
    throw error;
  }
}

function handlerOf(route: Route, { identify, database }: RouterOptions) {
  const readBody = bodyReader(route);
  return async (request: Request, response: Response): Promise<void> => {
    response.locals['route'] = route.path;
    const principal = await admit(route, request, identify);
    response.locals['principal'] = principal;
    const input = readParameters(route, request);
    const { value: body, textOf } = await readBody(request, response);
    const context = {
      ...input,
      body,
      textOf,
      // A route with a scope has one, which the types of `route` say.
      principal: principal as Principal & undefined,
      signal: goneSignal(response),
      requestId: String(response.locals['requestId']),
    };
    const reply = route.idempotent
      ? await inTransaction(database, (tx) => route.handle({ ...context, tx }))
      : await route.handle({ ...context, tx: undefined });
    answer(response, route, reply);
  };
}

export function routerOf(table: readonly Route[], options: RouterOptions): Router {
  const router = Router({ caseSensitive: true });
  const methods = new Map<string, string[]>();
  for (const route of table) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router[route.method](path, handlerOf(route, options));
    methods.set(path, [...(methods.get(path) ?? []), route.method.toUpperCase()]);
  }
  for (const [path, known] of methods) {
    router.all(path, () => {
      const allow = known.toSorted().join(', ');
      throw new ProblemError(
        problem(frame.methodNotAllowed, `It has ${allow}.`, { headers: { Allow: allow } }),
      );
    });
  }
  return router;
}
