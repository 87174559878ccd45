// Requests to the server, and what their answers can mean before anybody reads the body.
//
// - A redirect is never followed, and a page where JSON was expected is a sign-in page: neither is
//   the answer to what was asked.
// - Where `headers` is a plain function, the request leaves in the very tick of the call, because a
//   page that is being closed has no other.
// - The body is read always: an unread one holds the budget of `keepalive`.

import type { Environment, HttpAnswer } from './environment.ts';
import { budgetOf } from './keepalive.ts';
import { report } from './report.ts';

export type Headers = Readonly<Record<string, string>>;
export type HeadersSource = Headers | (() => Headers | Promise<Headers>);

export type Answer =
  | {
      readonly type: 'answered';
      readonly status: number;
      /** Undefined where it is no JSON. */
      readonly body: unknown;
      readonly waitMs: number;
    }
  | { readonly type: 'signed-out' }
  | { readonly type: 'broken'; readonly because: string };

const broken = (because: string): Answer => ({ type: 'broken', because });

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export type Transport = (call: Call) => Promise<Answer>;

/** The body of an answer of success; undefined for any other. */
export const bodyOf = (answer: Answer): unknown =>
  answer.type === 'answered' && answer.status < 300 ? answer.body : undefined;

/**
 * Runs with the headers, in this very tick where they are at hand. Any thenable is a promise: where
 * a library has put its own in the place of Promise, an async function still answers with another.
 */
export function withHeaders(
  headers: HeadersSource,
  run: (own: Headers) => void,
  failed: () => void,
): void {
  const fail = (error: unknown) => {
    report(error);
    failed();
  };
  try {
    const own = typeof headers === 'function' ? headers() : headers;
    if (typeof own.then === 'function') Promise.resolve(own).then(run, fail);
    else run(own as Headers);
  } catch (error) {
    fail(error);
  }
}

const timeoutMs = 30_000;
const mostWaitMs = 300_000;

/** `Retry-After` in seconds; a date is not worth the trust in two clocks. */
function waitMsOf(answer: HttpAnswer): number {
  const text = answer.headers.get('retry-after') ?? '';
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text) * 1000, mostWaitMs) : 0;
}

/** The JSON of a text; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function read(answer: HttpAnswer): Promise<Answer> {
  const { status, type, redirected } = answer;
  const text = type === 'opaqueredirect' ? '' : await answer.text();
  const isRedirect = type === 'opaqueredirect' || redirected || (status >= 300 && status < 400);
  if (isRedirect || status === 401) return { type: 'signed-out' };
  const body = parsed(text);
  if (status < 300 && body === undefined) {
    const isPage = answer.headers.get('content-type')?.includes('text/html') && text !== '';
    return isPage ? { type: 'signed-out' } : broken('no JSON');
  }
  return { type: 'answered', status, body, waitMs: waitMsOf(answer) };
}

export interface TransportOptions {
  readonly url: string;
  /** Read anew for each request. */
  readonly headers?: HeadersSource;
}

export function createTransport(environment: Environment, options: TransportOptions): Transport {
  const { clock, page } = environment;
  const budget = budgetOf(page);

  const send = async (call: Call, own: Headers, signal: AbortSignal): Promise<Answer> => {
    let giveBack: (() => void) | null = null;
    try {
      const body = call.body === undefined ? undefined : JSON.stringify(call.body);
      giveBack = page.isHidden() && body !== undefined ? budget.take(body) : null;
      const request = (keepalive: boolean) =>
        environment.fetch(options.url + call.path, {
          method: call.method,
          headers: {
            accept: 'application/json',
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...own,
          },
          ...(body !== undefined && { body }),
          keepalive,
          redirect: 'manual',
          signal,
        });
      // The browser's budget is the page's: others may have used it up, and then it refuses.
      // What it refuses and what the network lost look the same; a save sent twice is one save.
      const plainly = (error: unknown) => {
        if (signal.aborted) throw error;
        return request(false);
      };
      return await read(await (giveBack ? request(true).catch(plainly) : request(false)));
    } catch {
      return broken('network');
    } finally {
      giveBack?.();
    }
  };

  return (call) =>
    new Promise((resolve) => {
      const stop = new AbortController();
      const answer = (what: Answer) => {
        clock.clearTimeout(timer);
        resolve(what);
      };
      // From here on, so that headers that never come are no answer either.
      const timer = clock.setTimeout(() => {
        stop.abort();
        answer(broken('timeout'));
      }, timeoutMs);
      withHeaders(
        options.headers ?? {},
        (own) => {
          if (!stop.signal.aborted) send(call, own, stop.signal).then(answer);
        },
        () => answer(broken('headers')),
      );
    });
}
