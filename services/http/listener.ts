// The HTTP server around the app: opens the port, and closes it without cutting off an answer.

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';

export interface Listener {
  readonly url: string;
  /**
   * Takes no more connections and lets answers end; cuts what is left after the grace. Calls after
   * the first one wait for the same end.
   */
  close(graceMs: number): Promise<void>;
}

/** Above the 60 s of the usual proxies: who closes an idle connection first must not be us. */
const keepAliveMs = 65_000;

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** @throws the system's error when the port cannot be had. */
export async function listen(app: RequestListener, options: ListenOptions): Promise<Listener> {
  const server = createServer({ keepAliveTimeout: keepAliveMs }, app);
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
  let closing: Promise<void> | undefined;
  return {
    url: `http://${isIPv6(options.host) ? `[${options.host}]` : options.host}:${port}`,
    close(graceMs) {
      closing ??= close(graceMs);
      return closing;
    },
  };
}
