// A TCP proxy in front of Postgres that forwards message by message and asks about each what is to
// become of it. It decides nothing itself: try-point.ts does.
//
// - A connection's own beginning, up to its first ReadyForQuery, and its goodbye pass unasked.
// - Once it has stopped nothing passes any more, on no connection; what had passed is still
//   answered by the server, so `settled` is the moment at which every transaction has ended.

import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { messageCutter, type Side, steps, typeOf } from './wire.ts';

/**
 * `forward` it; `stop` before it; forward it as the `last` one and stop; `cut` its connection
 * instead of forwarding it.
 */
export type Fate = 'forward' | 'stop' | 'last' | 'cut';

export interface Passing {
  readonly from: Side;
  /** What it belongs to: a statement by its name, or in words. */
  readonly step: string;
}

export interface MessageProxy {
  /** The address of the database, through the proxy. */
  readonly url: string;
  /** Stops, if it has not, and resolves when the server has ended every session behind it. */
  settled(): Promise<void>;
}

interface Judging {
  readonly judge: (passing: Passing) => Fate;
  /** Called once, when nothing passes any more. */
  readonly onStopped: () => void;
}

/** Opens a proxy. */
export async function openMessageProxy(
  url: string,
  { judge, onStopped }: Judging,
): Promise<MessageProxy> {
  const target = new URL(url);
  const clients = new Set<Socket>();
  const servers = new Map<Socket, Promise<void>>();
  let isStopped = false;

  function stop(): void {
    isStopped = true;
    // What was forwarded is read and answered to its end; then the session ends.
    for (const server of servers.keys()) server.end();
  }

  const listener = createServer((client) => {
    if (isStopped) {
      client.destroy();
      return;
    }
    const server = dial(Number(target.port), target.hostname);
    clients.add(client);
    const closed = new Promise<void>((resolve) => server.on('close', () => resolve()));
    servers.set(server, closed);
    const stepOf = steps();
    let isReady = false;
    let isCut = false;

    function pass(from: Side, message: Buffer): void {
      const to = from === 'client' ? server : client;
      const step = stepOf(from, message);
      const isCounted = isReady && !(from === 'client' && typeOf(message) === 'X');
      if (from === 'server' && typeOf(message) === 'Z') isReady = true;
      const fate = isCounted ? judge({ from, step }) : 'forward';
      switch (fate) {
        case 'forward':
          to.write(message);
          return;
        case 'last':
          isStopped = true;
          // Whoever is killed for it has it by then.
          to.write(message, () => {
            stop();
            onStopped();
          });
          return;
        case 'stop':
          stop();
          onStopped();
          return;
        case 'cut':
          isCut = true;
          server.end();
          client.destroy();
          return;
        default:
          fate satisfies never;
      }
    }
    for (const [from, socket] of [['client', client] as const, ['server', server] as const]) {
      const cut = messageCutter(from);
      socket.setNoDelay();
      // Both ends may go at any moment; that is what a sweep is about.
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        for (const message of cut(chunk)) if (!isStopped && !isCut) pass(from, message);
      });
    }
    client.on('close', () => {
      clients.delete(client);
      server.end();
    });
    server.on('close', () => {
      servers.delete(server);
      if (!isStopped) client.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('not a TCP port');
  const through = new URL(url);
  through.port = String(address.port);

  return {
    url: through.href,
    async settled() {
      stop();
      await Promise.all(servers.values());
      for (const client of clients) client.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
