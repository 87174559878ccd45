// Faults in front of the server: what happens to the next request of a method, or to each.
//
// - What is committed stays committed, whatever the page hears of it.
// - `open` counts what a page has asked and not been answered.

import type { Clock, HttpAnswer, HttpRequest, OpenStream, StreamHandlers } from '../environment.ts';
import type { Reply, WireServer } from './wire-server.ts';

export type Fault =
  /** The server answers and the answer is kept back until it is let go. */
  | { readonly type: 'hold'; readonly until: Promise<void> }
  /** The request is kept back before the server sees it. */
  | { readonly type: 'delay'; readonly until: Promise<void> }
  | { readonly type: 'slow'; readonly ms: number }
  /** Committed, and the connection died before the answer. */
  | { readonly type: 'drop' }
  /** The connection died before the server saw the request. */
  | { readonly type: 'kill' }
  /** Answered so, without the server's seeing it. */
  | {
      readonly type: 'reply';
      readonly status: number;
      readonly body?: unknown;
      readonly retryAfter?: number;
      /** The answer is kept back until then. */
      readonly until?: Promise<void>;
    }
  /** Committed, and answered so. */
  | { readonly type: 'lie'; readonly status: number; readonly body?: unknown }
  /** Committed; the headers were cut off, which a browser shows as 200 without a body. */
  | { readonly type: 'truncate' }
  /** The browser sends it again by itself; the page hears the second answer. */
  | { readonly type: 'twice' }
  | { readonly type: 'redirect' }
  /** A sign-in page with status 200. */
  | { readonly type: 'page' };

export interface Logged {
  readonly page: string;
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly keepalive: boolean;
  readonly at: number;
  /** Undefined while it is unanswered; 0 where no answer came. */
  status: number | undefined;
}

interface Stream {
  readonly ids: readonly string[];
  readonly handlers: StreamHandlers;
  readonly caller: Caller;
}

export interface Caller {
  readonly page: string;
  readonly user: () => string | null;
  readonly isUp: () => boolean;
}

const answerOf = (
  status: number,
  text: string,
  more: Partial<HttpAnswer> & { retryAfter?: number | undefined; html?: boolean } = {},
): HttpAnswer => ({
  status,
  type: more.type ?? 'basic',
  redirected: false,
  headers: {
    get: (name) => {
      if (name === 'retry-after')
        return more.retryAfter === undefined ? null : `${more.retryAfter}`;
      return more.html ? 'text/html' : 'application/json';
    },
  },
  text: async () => text,
});

const jsonOf = ({ status, body }: Reply): HttpAnswer =>
  answerOf(status, body === undefined ? '' : JSON.stringify(body));

export function scriptedServer(server: WireServer, clock: Clock) {
  const log: Logged[] = [];
  const scripts = new Map<string, Fault[]>();
  let fault: (method: string) => Fault | undefined = () => undefined;
  const streams = new Set<Stream>();

  const handle = async (caller: Caller, url: string, request: HttpRequest): Promise<HttpAnswer> => {
    const path = url.replace(/^https?:\/\/[^/]+/, '');
    const { method, body } = request;
    const seen = () => server.answer({ user: caller.user(), method, path, body });
    const next = scripts.get(method)?.shift() ?? fault(method);
    if (!caller.isUp()) throw new TypeError('Failed to fetch');
    switch (next?.type) {
      case undefined:
        return jsonOf(seen());
      case 'hold': {
        const reply = seen();
        await next.until;
        return jsonOf(reply);
      }
      case 'delay':
        await next.until;
        return jsonOf(seen());
      case 'slow': {
        const reply = seen();
        await new Promise<void>((resolve) => {
          clock.setTimeout(resolve, next.ms);
        });
        return jsonOf(reply);
      }
      case 'drop':
        seen();
        throw new TypeError('Failed to fetch');
      case 'kill':
        throw new TypeError('Failed to fetch');
      case 'reply':
        await next.until;
        return answerOf(next.status, next.body === undefined ? '' : JSON.stringify(next.body), {
          retryAfter: next.retryAfter,
        });
      case 'lie':
        seen();
        return answerOf(next.status, next.body === undefined ? '' : JSON.stringify(next.body));
      case 'truncate':
        seen();
        return answerOf(200, '');
      case 'twice':
        seen();
        return jsonOf(seen());
      case 'redirect':
        return answerOf(0, '', { type: 'opaqueredirect' });
      case 'page':
        return answerOf(200, '<html>Sign in</html>', { html: true });
    }
  };

  const hear = (id: string, type: string, data: unknown) => {
    for (const { ids, handlers, caller } of [...streams]) {
      if (!ids.includes(id)) continue;
      // Each hears of what it may see, and that it is missing where it may not.
      if (server.sees(id, caller.user()) !== (type === 'missing'))
        handlers.heard({ type, data: JSON.stringify(data) });
    }
  };
  server.onAnnounce((event, type) => hear(event.id, type, event));

  return {
    server,
    log,
    puts: (): readonly Logged[] => log.filter(({ method }) => method === 'PUT'),
    /** Scripts the next requests of a method, in order. */
    script(method: string, ...faults: readonly Fault[]) {
      scripts.set(method, [...(scripts.get(method) ?? []), ...faults]);
    },
    /** Takes back what was scripted for a method. */
    forget(method: string) {
      scripts.delete(method);
    },
    /** Decides about every request that no script is for. */
    always(decide: (method: string) => Fault | undefined) {
      fault = decide;
    },
    streams: () => streams.size,
    cutStreams() {
      for (const each of [...streams]) {
        streams.delete(each);
        each.handlers.lost();
      }
    },
    fetchFor(caller: Caller): (url: string, request: HttpRequest) => Promise<HttpAnswer> {
      return async (url, request) => {
        const entry: Logged = {
          page: caller.page,
          method: request.method,
          path: url.replace(/^https?:\/\/[^/]+/, ''),
          body: request.body === undefined ? {} : JSON.parse(request.body),
          keepalive: request.keepalive,
          at: clock.now(),
          status: undefined,
        };
        log.push(entry);
        const aborted = new Promise<never>((_, reject) => {
          request.signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
        try {
          const answer = await Promise.race([handle(caller, url, request), aborted]);
          entry.status = answer.status;
          return answer;
        } catch (error) {
          entry.status = 0;
          throw error;
        }
      };
    },
    streamFor(caller: Caller): OpenStream {
      return (url, _headers, handlers) => {
        const ids = [...url.matchAll(/[?&]id=([^&]+)/g)].map(([, id = '']) =>
          decodeURIComponent(id),
        );
        const stream = { ids, handlers, caller };
        let closed = false;
        Promise.resolve().then(() => {
          if (closed) return;
          if (!caller.isUp() || caller.user() === null) {
            handlers.lost();
            return;
          }
          streams.add(stream);
          handlers.opened();
          for (const id of ids.filter((each) => !server.sees(each, caller.user()))) {
            handlers.heard({ type: 'missing', data: JSON.stringify({ id }) });
          }
        });
        return () => {
          closed = true;
          streams.delete(stream);
        };
      };
    },
  };
}

export type ScriptedServer = ReturnType<typeof scriptedServer>;

/** A promise and how to keep it: what `hold` and `delay` wait for. */
export function gate(): { readonly until: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const until = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { until, open };
}
