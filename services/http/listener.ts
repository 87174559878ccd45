// The HTTP server around the app: opens the port, and closes it without cutting off an answer.
//
// - Requests and answers are made with the prototypes that express gives them. It would set them on
//   each, and V8 makes a new shape of each of these objects then: whoever looked at them missed its
//   caches every time, which was 130 µs of a save.

import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import type { Express } from 'express';

export interface Listener {
  readonly url: string;
  /**
   * Takes no more connections and lets answers end; cuts what is left after the grace. Calls after
   * the first one wait for the same end.
   */
  close(graceMs: number): Promise<void>;
  /** Ends the grace of a close that has begun. */
  hurry(): void;
}

/**
 * Classes for requests and answers that are what express makes of them. They are real subclasses,
 * because V8 keeps the shape of these only.
 */
function classesFor(app: Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as Express['request'];
  app.response = AppResponse.prototype as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

/** Above the 60 s of the usual proxies: who closes an idle connection first must not be us. */
const keepAliveMs = 65_000;

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** @throws the system's error when the port cannot be had. */
export async function listen(app: Express, options: ListenOptions): Promise<Listener> {
  let closing: Promise<void> | undefined;
  const settings = { keepAliveTimeout: keepAliveMs, ...classesFor(app) };
  const server = createServer(settings, (request, response) => {
    // Node closes what is idle when it stops listening, and keeps what becomes idle after that.
    response.once('close', () => {
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    app(request, response);
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  async function close(graceMs: number): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    const grace = setTimeout(() => server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(grace);
  }
  return {
    hurry() {
      if (closing) server.closeAllConnections();
    },
    url: `http://${isIPv6(options.host) ? `[${options.host}]` : options.host}:${port}`,
    close(graceMs) {
      closing ??= close(graceMs);
      return closing;
    },
  };
}
