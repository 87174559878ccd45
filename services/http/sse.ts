// Streams of server-sent events, by better-sse: a route's handler gives events as they come, and
// this sends them until the client goes or the service stops.
//
// - Each event has an id where the handler gives one. A client that comes back sends the last one
//   it saw as Last-Event-ID, and the handler goes on behind it.
// - A comment every 15 seconds keeps proxies from closing what is quiet, and finds who is gone.
// - A slow client is waited for, never buffered without end: the next event is asked for only when
//   the socket has taken the last one.
// - When the service stops the stream ends with a `retry:`, so that the clients of a process come
//   back spread over some seconds.

import { once } from 'node:events';
import { createSession } from 'better-sse';
import type { Request, Response } from 'express';
import { frame, ProblemError, problem } from './problem.ts';
import type { StreamEvent } from './route.ts';

const heartbeatMs = 15_000;
const retryMs = 2000;
const spreadMs = 5000;
const lastIdPattern = /^[\x21-\x7e]{1,255}$/;

/** @throws ProblemError for an id that cannot be one of ours. */
export function readLastEventId(given: string | readonly string[] | undefined): string | undefined {
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && lastIdPattern.test(given)) return given;
  const errors = [{ code: 'invalid', pointer: '/last-event-id', detail: 'This is no id of ours.' }];
  throw new ProblemError(
    problem(frame.invalidHeaders, 'See errors for what is wrong and where.', { errors }),
  );
}

/** The events, until the signal is aborted: what does not come any more is not waited for. */
async function* until(
  events: AsyncIterable<StreamEvent>,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const iterator = events[Symbol.asyncIterator]();
  const over = signal.aborted
    ? Promise.resolve(undefined)
    : once(signal, 'abort').then(() => undefined);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), over]);
      if (!next || next.done || signal.aborted) return;
      yield next.value;
    }
  } finally {
    // It may be waiting for something that takes long; it was told by the signal.
    void iterator.return?.().catch(() => undefined);
  }
}

export interface StreamOptions {
  /** The client is gone, or the service stops. */
  readonly signal: AbortSignal;
  readonly isStopping: () => boolean;
}

/** Sends events until there are no more. Resolves when the answer has ended. */
export async function sendEvents(
  request: Request,
  response: Response,
  events: AsyncIterable<StreamEvent>,
  { signal, isStopping }: StreamOptions,
): Promise<void> {
  const session = await createSession(request, response, {
    keepAlive: heartbeatMs,
    retry: retryMs,
    trustClientEventId: false,
  });
  try {
    for await (const { event, data, id } of until(events, signal)) {
      // Not `push`, which makes up an id for what has none: nobody could go on behind that.
      await session.batch((buffer) => {
        if (id !== undefined) buffer.id(id);
        buffer.event(event).data(data).dispatch();
      });
      if (response.writableNeedDrain) await once(response, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (isStopping() && !response.destroyed) {
      response.write(`retry: ${retryMs + Math.round(Math.random() * spreadMs)}\n\n`);
    }
    response.end();
  }
}
