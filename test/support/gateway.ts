// What stands between a browser and the API in production: it serves the page, and passes requests
// on. It also loses, delays and replaces answers as a test asks for it, and remembers what came.
//
// - The API behind it is the real one. A fault says what the browser gets, and whether the API was
//   asked before.
// - A page tells the test something by POST /told: it comes as a request of the method TOLD.

import { once } from 'node:events';
import {
  request as ask,
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ServedFile } from './editor-page.ts';

export type Fault =
  /** The API answers, and the connection dies before the browser reads it. */
  | { readonly type: 'lose answer' }
  /** The API answers, and the browser gets half of a head. */
  | { readonly type: 'half a head' }
  /** The connection dies before the API is asked. */
  | { readonly type: 'cut' }
  /** The API is asked later. */
  | { readonly type: 'delay'; readonly until: Promise<unknown> }
  /** The API is asked at once, and its answer comes later. */
  | { readonly type: 'answer late'; readonly until: Promise<unknown> }
  | { readonly type: 'redirect to sign-in' }
  | { readonly type: 'sign-in page' };

export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly bytes: number;
  /** The API's status, once it has answered; null where it was not asked. */
  readonly answered: Promise<number | null>;
}

export interface GatewayOptions {
  readonly api: string;
  readonly files: ReadonlyMap<string, ServedFile>;
  readonly tokenOf: (user: string) => Promise<string>;
}

const policy = "default-src 'self'; img-src data:; style-src 'self' 'unsafe-inline'";
const signIn = '<!doctype html><title>Sign in</title><h1>Sign in</h1>';

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

/** Asks the API as the browser asked. */
async function askApi(api: string, request: IncomingMessage, text: string) {
  const { method, url, headers } = request;
  const asked = ask(new URL(url ?? '/', api), { method, headers, agent: false });
  asked.end(text);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer;
}

function passOn(answer: IncomingMessage, response: ServerResponse): void {
  const { connection: _, 'keep-alive': __, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 500, headers);
  response.flushHeaders();
  answer.pipe(response);
  // A stream of events ends only when the browser goes.
  response.once('close', () => answer.destroy());
  answer.once('error', () => response.destroy());
}

export async function openGateway({ api, files, tokenOf }: GatewayOptions) {
  const arrived: Arrived[] = [];
  const waiting = new Set<() => void>();
  const nextOnes: { readonly method: string; readonly fault: Fault }[] = [];
  const rules = new Set<(method: string) => Fault | undefined>();
  let user = 'ada';

  function faultFor(method: string): Fault | undefined {
    const at = nextOnes.findIndex((each) => each.method === method);
    if (at >= 0) return nextOnes.splice(at, 1)[0]?.fault;
    return [...rules].map((rule) => rule(method)).find((fault) => fault !== undefined);
  }

  function note(request: Omit<Arrived, 'body' | 'bytes'>): void {
    const { text } = request;
    const body = text === '' ? {} : JSON.parse(text);
    arrived.push({ ...request, body, bytes: Buffer.byteLength(text) });
    for (const look of [...waiting]) look();
  }

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<number | null> {
    const { method = '' } = request;
    const text = await textOf(request);
    let settle: (status: number | null) => void = () => undefined;
    const answered = new Promise<number | null>((resolve) => {
      settle = resolve;
    });
    const fault = faultFor(method);
    note({ method, path: request.url ?? '', text, answered });
    const status = await serve(fault, text, request, response);
    settle(status);
    return status;
  }

  async function serve(
    fault: Fault | undefined,
    text: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<number | null> {
    switch (fault?.type) {
      case 'cut':
        request.socket.destroy();
        return null;
      case 'redirect to sign-in':
        response.writeHead(303, { location: '/sign-in' }).end();
        return null;
      case 'sign-in page':
        response.writeHead(200, { 'content-type': 'text/html' }).end(signIn);
        return null;
      case 'delay':
        await fault.until;
        break;
      default:
    }
    const answer = await askApi(api, request, text);
    const status = answer.statusCode ?? null;
    switch (fault?.type) {
      case 'lose answer':
      case 'half a head': {
        await textOf(answer);
        const half = fault.type === 'half a head' ? 'HTTP/1.1 200 OK\r\nContent-Ty' : '';
        request.socket.end(half, () => request.socket.destroy());
        return status;
      }
      case 'answer late':
        await fault.until;
        break;
      default:
    }
    passOn(answer, response);
    return status;
  }

  const listener: RequestListener = async (request, response) => {
    const path = request.url ?? '/';
    if (path.startsWith('/v1/')) {
      // The browser may be gone before it is answered, and the test before the API answers.
      await handle(request, response).catch(() => response.destroy());
      return;
    }
    if (path === '/told') {
      const text = await textOf(request);
      note({ method: 'TOLD', path, text, answered: Promise.resolve(null) });
      response.writeHead(204).end();
      return;
    }
    if (path === '/session') {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ user }));
      return;
    }
    const file = files.get(path.replace(/\?.*/, '')) ?? { type: 'text/html', body: signIn };
    const who = JSON.stringify({ user, token: await tokenOf(user) });
    response.setHeader('content-type', `${file.type}; charset=utf-8`);
    response.setHeader('content-security-policy', policy);
    response.end(file.body.replace('{{who}}', who.replaceAll('"', '&quot;')));
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const ofMethod = (method: string) => arrived.filter((each) => each.method === method);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    puts: (): readonly Arrived[] => ofMethod('PUT'),
    /** The methods of all requests about documents, in order; not the streams. */
    methods: (): readonly string[] =>
      arrived.filter(({ path }) => !/\/events\b/.test(path)).map(({ method }) => method),
    /** The n-th request of a method, from 1, also one that has come already. */
    arrived(method: string, n: number): Promise<Arrived> {
      return new Promise((resolve) => {
        const look = () => {
          const found = ofMethod(method)[n - 1];
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      });
    },
    /** What happens to the next requests of a method. */
    next(method: string, ...faults: readonly Fault[]): void {
      nextOnes.push(...faults.map((fault) => ({ method, fault })));
    },
    /** What happens to all requests of some methods, until the returned function is called. */
    always(methods: readonly string[], fault: Fault): () => void {
      const rule = (method: string) => (methods.includes(method) ? fault : undefined);
      rules.add(rule);
      return () => rules.delete(rule);
    },
    /** Signs somebody in: later pages are theirs. */
    signIn(who: string): void {
      user = who;
    },
  };
}
