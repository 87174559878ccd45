// The route table as a middleware of express: for each route who may call it, then what was sent,
// then the handler, then the answer.
//
// - In this order: a stranger learns nothing of the schemas, and no body is read before it is known
//   whose it is.
// - A path that is known answers every other method with 405.
// - The signal of a handler is aborted when its client is gone before the answer.

import { isIP } from 'node:net';
import type { Request, RequestHandler, Response } from 'express';
import type { Database } from '../../persistence/database.ts';
import { printed, send } from './answer.ts';
import { type Body, bodyReader } from './body.ts';
import { type About, HandlerContext } from './context.ts';
import { handleOnce, keyHeader, readKey } from './idempotency.ts';
import { type Identify, insufficientScope, unauthenticated } from './identity.ts';
import { readParameters } from './input.ts';
import { matcherOf, type Params } from './match.ts';
import { frame, ProblemError, problem } from './problem.ts';
import { type AnswerRoute, isProblem, type Route } from './route.ts';
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

type Handler = (request: Request, response: Response, params: Params) => Promise<void>;

interface Once {
  readonly about: About;
  readonly body: Body;
  readonly key: string | undefined;
}

function handledOnce(route: AnswerRoute, database: Database | undefined, given: Once) {
  if (!database) throw new Error('an idempotent route needs a database');
  const { about, body, key } = given;
  const { requestId, principal, input } = about;
  const request = { ...input, body: body.given };
  const asked = { route, requestId, key, principal: principal?.sub ?? '', request };
  return handleOnce(database, asked, (tx) => route.handle(new HandlerContext(about, body, tx)));
}

/** Nothing here is held by a closure: bodies are large, and an answer takes its time. */
function handlerOf(route: Route, { identify, database, stopping }: RouterOptions): Handler {
  const readBody = bodyReader(route);
  return async (request, response, params) => {
    response.locals['route'] = route.path;
    const { principal, expiresAt } = (await admit(route, request, identify)) ?? {};
    response.locals['principal'] = principal?.sub;
    const input = readParameters(route, request, params);
    const requestId = String(response.locals['requestId']);
    const about = { input, requestId, principal, response };
    if ('events' in route) {
      const lastEventId = readLastEventId(request.headers['last-event-id']);
      const context = new HandlerContext(about, await readBody(request, response));
      const signal = streamSignal(response, stopping, expiresAt);
      const opened = await route.open({ ...context, signal, lastEventId });
      if (isProblem(opened)) return send(response, printed(route, opened, requestId));
      return await sendEvents(request, response, opened, {
        signal,
        isStopping: () => stopping.aborted,
      });
    }
    if (route.idempotent) {
      const key = readKey(request.headers[keyHeader]);
      const body = await readBody(request, response);
      return send(response, await handledOnce(route, database, { about, body, key }));
    }
    const reply = await route.handle(new HandlerContext(about, await readBody(request, response)));
    send(response, printed(route, reply, requestId));
  };
}

export function routerOf(table: readonly Route[], options: RouterOptions): RequestHandler {
  const handlers = new Map(table.map((route) => [route, handlerOf(route, options)]));
  const match = matcherOf(table);
  function find({ method, path }: Request) {
    try {
      return match(method, path);
    } catch (error) {
      if (!(error instanceof URIError)) throw error;
      throw new ProblemError(problem(frame.malformed, 'The path has half an escape in it.'));
    }
  }
  return (request, response, next) => {
    const found = find(request);
    if (!found) return next();
    if (found.route) return handlers.get(found.route)?.(request, response, found.params);
    const allow = found.allow.join(', ');
    const headers = { Allow: allow };
    throw new ProblemError(problem(frame.methodNotAllowed, `It has ${allow}.`, { headers }));
  };
}
