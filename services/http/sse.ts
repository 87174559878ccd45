// Streams of server-sent events: a route's handler gives events as they come, and this sends them
// until the client goes or the service stops.
//
// - Each event has an id where the handler gives one. A client that comes back sends the last one
//   it saw as Last-Event-ID, and the handler goes on behind it.
// - A comment every 15 seconds keeps proxies from closing what is quiet, and finds who is gone.
//   Nothing is written behind the end: Node takes that for a mistake that ends the process.
// - A slow client is waited for, never buffered without end: the next event is asked for only when
//   the socket has taken the last one.
// - A stream ends with the token that it was asked for by: whoever comes back needs a valid one.
// - When the service stops the stream ends with a `retry:`, so that the clients of a process come
//   back spread over some seconds.
// - However a stream ends, its signal is aborted then, and nothing of it is left: no timer, no
//   listener on what outlives it.
//   Source: HTML Standard, 9.2.6 Interpreting an event stream.

import { once } from 'node:events';
import type { Request, Response } from 'express';
import { frame, ProblemError, problem } from './problem.ts';
import { eventStream, type StreamEvent } from './route.ts';

const heartbeatMs = 15_000;
const retryMs = 2000;
const spreadMs = 5000;
const longestTimerMs = 2 ** 31 - 1;
const lastIdPattern = /^[\x21-\x7e]{1,255}$/;

/** Proxies must neither collect events nor compress them. */
const head = {
  'Content-Type': eventStream,
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** @throws ProblemError for an id that cannot be one of ours. */
export function readLastEventId(given: string | readonly string[] | undefined): string | undefined {
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && lastIdPattern.test(given)) return given;
  const errors = [{ code: 'invalid', pointer: '/last-event-id', detail: 'This is no id of ours.' }];
  throw new ProblemError(
    problem(frame.invalidHeaders, 'See errors for what is wrong and where.', { errors }),
  );
}

/**
 * The signal of a stream: aborted when the service stops, when its time is over (in milliseconds
 * since 1970), and once the answer is over, however that came. Not `AbortSignal.any`: a signal that
 * lives as long as the process keeps something of each that is made of it.
 */
export function streamSignal(
  response: Response,
  stopping: AbortSignal,
  until = Number.POSITIVE_INFINITY,
): AbortSignal {
  const over = new AbortController();
  const end = () => over.abort();
  stopping.addEventListener('abort', end);
  const timer = setTimeout(end, Math.min(Math.max(0, until - Date.now()), longestTimerMs));
  const close = () => {
    clearTimeout(timer);
    stopping.removeEventListener('abort', end);
    end();
  };
  // It may have gone while it was asked who it is.
  if (response.destroyed) close();
  else response.once('close', close);
  if (stopping.aborted) end();
  return over.signal;
}

/** Data is JSON, which has no line breaks; ids and names have none by what they are. */
const printed = ({ event, data, id }: StreamEvent): string =>
  `${id === undefined ? '' : `id:${id}\n`}event:${event}\ndata:${JSON.stringify(data)}\n\n`;

/** The next event; undefined once the signal is aborted: it is not waited for then. */
function nextOf(
  events: AsyncIterator<StreamEvent>,
  signal: AbortSignal,
): Promise<IteratorResult<StreamEvent> | undefined> {
  return new Promise((resolve, reject) => {
    const over = () => resolve(undefined);
    signal.addEventListener('abort', over);
    events
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', over));
  });
}

async function sendAll(
  response: Response,
  events: AsyncIterator<StreamEvent>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const next = await nextOf(events, signal);
    if (!next || next.done || signal.aborted) return;
    response.write(printed(next.value));
    if (response.writableNeedDrain) await once(response, 'drain', { signal });
  }
}

export interface StreamOptions {
  /** Of `streamSignal`. */
  readonly signal: AbortSignal;
  readonly isStopping: () => boolean;
}

/** Sends events until there are no more. Resolves when nothing more is to be sent. */
export async function sendEvents(
  request: Pick<Request, 'method'>,
  response: Response,
  events: AsyncIterable<StreamEvent>,
  { signal, isStopping }: StreamOptions,
): Promise<void> {
  response.writeHead(200, head);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  response.write(`retry:${retryMs}\n\n`);
  const beating = setInterval(() => {
    if (!response.writableNeedDrain) response.write(':\n\n');
  }, heartbeatMs);
  const iterator = events[Symbol.asyncIterator]();
  try {
    await sendAll(response, iterator, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(beating);
    // It may be waiting for something that takes long; it was told by the signal.
    void iterator.return?.().catch(() => undefined);
    if (isStopping() && !response.destroyed) {
      response.write(`retry: ${retryMs + Math.round(Math.random() * spreadMs)}\n\n`);
    }
    response.end();
  }
}
