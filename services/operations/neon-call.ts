// One call of Neon's API, and how certain its end is. neon.ts says what is called; this file knows
// HTTP and nothing of branches.
//
// - Bounded whatever the other side does: one limit of time for all of it, 1 MiB of an answer.
// - A connection a call: a POST on one that the other side is just closing ends as unclear.
// - The last look at the clock is when the connection is there, just before the request is written.
// - The key is in a header and nowhere else: what goes into an error or a log is searched for it.

import { buildConnector, Client } from 'undici';
import { describeError } from '../describe-error.ts';

export interface NeonOptions {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string;
  readonly project: string;
  readonly timeoutMs: number;
}

export type CallEnd =
  /** The whole answer is here; `body` is undefined where it is not JSON. */
  | {
      readonly end: 'answered';
      readonly status: number;
      readonly retryAfter: string | string[] | undefined;
      readonly body: unknown;
      /** What the body begins with, for people. */
      readonly text: string;
    }
  /** No byte of the request was written. */
  | { readonly end: 'unsent'; readonly error: string }
  | { readonly end: 'broken'; readonly error: string };

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  /** The last moment, by performance.now(), at which it may be written. */
  readonly latest?: number;
  readonly signal?: AbortSignal;
}

const mostBytes = 2 ** 20;
const shownUnits = 200;

class TooLateError extends Error {
  override readonly name = 'TooLateError';
  readonly code = 'too_late';
}
class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
  readonly code = 'too_large';
}

async function readAll(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > mostBytes) throw new TooLargeError(`an answer of more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns how to call the API. */
export function neonCalls({ url, key, timeoutMs }: NeonOptions) {
  const base = new URL(url);
  const dial = buildConnector({ timeout: timeoutMs });
  const hide = (text: string) => (key === '' ? text : text.replaceAll(key, '***'));

  return async ({ method, path, body, latest = Infinity, signal }: Call): Promise<CallEnd> => {
    let connected = false;
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new Error(`no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const client = new Client(base.origin, {
      pipelining: 0,
      connect: (target, done) =>
        dial(target, (error, socket) => {
          if (error) return done(error, null);
          if (late.signal.aborted || performance.now() > latest) {
            socket.destroy();
            return done(new TooLateError('the send window had passed'), null);
          }
          connected = true;
          return done(null, socket);
        }),
    });
    try {
      const answer = await client.request({
        method,
        path: base.pathname.replace(/\/$/, '') + path,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${key}`,
          'user-agent': 'Fencepost',
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      const text = hide(await readAll(answer.body));
      const retryAfter = answer.headers['retry-after'];
      const shown = text.slice(0, shownUnits);
      return {
        end: 'answered',
        status: answer.statusCode,
        retryAfter,
        body: parsed(text),
        text: shown,
      };
    } catch (error) {
      const said = hide(describeError(error));
      return connected ? { end: 'broken', error: said } : { end: 'unsent', error: said };
    } finally {
      clearTimeout(timer);
      void client.destroy().catch(() => undefined);
    }
  };
}
