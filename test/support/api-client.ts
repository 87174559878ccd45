// A client of the API for tests: it knows the route table, and an answer that is not what its route
// declares is a failure, whatever the test is about.
//
// - A body with a key too many, a status that is not declared and a problem of another kind all
//   fail.

import { frame, type ProblemKind, problemSchema } from '../../services/http/problem.ts';
import { type Route, routeName } from '../../services/http/route.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly location: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** A string goes as it is, everything else as JSON. */
  readonly body?: unknown;
  /** Null: nobody's. */
  readonly token?: string | null;
}

export interface ApiClientOptions {
  readonly url: string;
  readonly routes: readonly Route[];
  readonly token: string;
}

const frameKinds: readonly ProblemKind[] = Object.values(frame);

function patternOf({ path }: Route): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

export function routeAt(routes: readonly Route[], method: string, path: string) {
  const [pathname = ''] = path.split('?');
  return routes.find(
    (each) => each.method === method.toLowerCase() && patternOf(each).test(pathname),
  );
}

/** @throws what is wrong with an answer. */
export function checkAnswer(route: Route | undefined, status: number, type: string, text: string) {
  const name = route ? routeName(route) : 'no route';
  if (type.startsWith('application/problem+json')) {
    const body = JSON.parse(text);
    const kinds = [...frameKinds, ...(route?.problems ?? [])];
    const kind = kinds.find(({ code }) => code === body.code);
    if (!kind) throw new Error(`${name} answers with an undeclared problem: ${text}`);
    problemSchema(kind).parse(body);
    if (kind.status !== status) throw new Error(`${name}: ${status} with a body of ${text}`);
    return body;
  }
  const schema = route?.answers[status];
  if (!route || !schema) throw new Error(`${name} answers with an undeclared ${status}: ${text}`);
  const { mediaType = 'application/json' } = route;
  if (!type.startsWith(mediaType)) throw new Error(`${name} answers with ${type}`);
  const body = mediaType === 'application/json' ? JSON.parse(text) : text;
  schema.parse(body);
  return body;
}

export function apiClient({ url, routes, token: usual }: ApiClientOptions) {
  async function call(method: string, path: string, sent: Sent = {}): Promise<Answered> {
    const { body, headers, token = usual } = sent;
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const type = response.headers.get('content-type') ?? '';
    const route = routeAt(routes, method, path);
    const answer = checkAnswer(route, response.status, type, await response.text());
    const { status, headers: got } = response;
    return { status, headers: got, location: got.get('location'), body: answer };
  }

  return {
    url,
    call,
    get: (path: string, sent?: Sent) => call('GET', path, sent),
    post: (path: string, body?: unknown, sent?: Sent) => call('POST', path, { ...sent, body }),
  };
}
