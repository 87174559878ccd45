// An answer as it is sent, made of what a handler returned; also what is kept to be sent again.

import type { Response } from 'express';
import { type Problem, printProblem, problemType } from './problem.ts';
import { isProblem, type Reply, type Route } from './route.ts';

export interface Printed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const json = 'application/json';

function printReply({ mediaType = json }: Pick<Route, 'mediaType'>, reply: Reply): Printed {
  const { status, body, text, location } = reply;
  const headers: Record<string, string> = { ...reply.headers };
  if (location !== undefined) headers['Location'] = location;
  if (body === undefined && text === undefined) return { status, headers, body: '' };
  headers['Content-Type'] = `${mediaType}; charset=utf-8`;
  if (text !== undefined) return { status, headers, body: text };
  return { status, headers, body: mediaType === json ? JSON.stringify(body) : String(body) };
}

export function printed(
  route: Pick<Route, 'mediaType'>,
  reply: Reply | Problem,
  requestId: string,
): Printed {
  if (!isProblem(reply)) return printReply(route, reply);
  return {
    status: reply.kind.status,
    headers: { ...reply.headers, 'Content-Type': `${problemType}; charset=utf-8` },
    body: printProblem(reply, requestId),
  };
}

/** Of these, express knows what a client has already, and says only that. */
const conditional = ['GET', 'HEAD'];

export function send(response: Response, { status, headers, body }: Printed): void {
  response.statusCode = status;
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
  if (body !== '' && conditional.includes(response.req.method)) {
    response.send(body);
    return;
  }
  if (body !== '') response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}
