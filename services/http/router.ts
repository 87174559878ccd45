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
import type { Tx } from '../../persistence/transaction.ts';
import { printed, send } from './answer.ts';
import { handleOnce, keyHeader, readKey } from './idempotency.ts';
import { type Identify, insufficientScope, unauthenticated } from './identity.ts';
import { bodyReader, readParameters } from './input.ts';
import { frame, ProblemError, problem } from './problem.ts';
import { isProblem, type Principal, type Route } from './route.ts';
import { readLastEventId, sendEvents, streamSignal } from './sse.ts';

export interface RouterOptions {
  readonly identify: Identify;
  /** Absent where no route needs one, as while the service starts. */
  readonly database?: Database;
  /** Aborted when the service stops: streams end then. */
  readonly stopping: AbortSignal;
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
  if (identified.principal.scopes.has(scope)) return identified;
  throw new ProblemError(insufficientScope(scope));
}

function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  // It may have gone while it was asked who it is.
  if (response.destroyed) gone.abort();
  return gone.signal;
}

function handlerOf(route: Route, { identify, database, stopping }: RouterOptions) {
  const readBody = bodyReader(route);
  return async (request: Request, response: Response): Promise<void> => {
    response.locals['route'] = route.path;
    const { principal, expiresAt } = (await admit(route, request, identify)) ?? {};
    response.locals['principal'] = principal?.sub;
    const input = readParameters(route, request);
    const requestId = String(response.locals['requestId']);
    const gone = goneSignal(response);
    const context = {
      ...input,
      requestId,
      // A route with a scope has one, which the types of `route` say.
      principal: principal as Principal & undefined,
      signal: gone,
      tx: undefined,
    };
    if ('events' in route) {
      const lastEventId = readLastEventId(request.headers['last-event-id']);
      const { value: body, textOf } = await readBody(request, response);
      const signal = streamSignal(response, stopping, expiresAt);
      const opened = await route.open({ ...context, body, textOf, signal, lastEventId });
      if (isProblem(opened)) return send(response, printed(route, opened, requestId));
      return await sendEvents(request, response, opened, {
        signal,
        isStopping: () => stopping.aborted,
      });
    }
    const key = route.idempotent ? readKey(request.headers[keyHeader]) : undefined;
    const { value: body, textOf } = await readBody(request, response);
    if (!route.idempotent) {
      const reply = await route.handle({ ...context, body, textOf });
      return send(response, printed(route, reply, requestId));
    }
    if (!database) throw new Error('an idempotent route needs a database');
    const asked = {
      route,
      requestId,
      key,
      principal: principal?.sub ?? '',
      request: { ...input, body: request.body },
    };
    const handle = (tx: Tx) => route.handle({ ...context, body, textOf, tx });
    send(response, await handleOnce(database, asked, handle));
  };
}

export function routerOf(table: readonly Route[], options: RouterOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
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
