// An HTTP receiver for tests, on a bare socket so that it can answer in every wrong way. It reads
// whole requests and lets the test write what it likes.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface Received {
  readonly line: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HttpSink {
  /** http://127.0.0.1:port */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly Received[];
  /** How often somebody connected, whether a request came or not. */
  connections(): number;
  close(): Promise<void>;
}

export interface Behaviour {
  readonly onConnection?: (socket: Socket) => void;
  /** Called when a request has come whole. */
  readonly onRequest?: (socket: Socket, request: Received) => void;
}

/** A whole answer, as it goes over the wire. */
export function answer(
  status: number,
  body = '',
  headers: readonly (readonly [string, string])[] = [],
): string {
  const fields = [['content-length', String(Buffer.byteLength(body))], ...headers];
  return `HTTP/1.1 ${status} Said\r\n${fields.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n${body}`;
}

function parse(bytes: Buffer): Received | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...fields] = bytes.subarray(0, end).toString().split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  const body = bytes.subarray(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return undefined;
  return { line, headers, body: body.toString() };
}

export async function openHttpSink({ onConnection, onRequest }: Behaviour): Promise<HttpSink> {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Whoever calls may go away at any moment.
    socket.on('error', () => undefined);
    onConnection?.(socket);
    if (!onRequest) return;
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      const request = parse(Buffer.concat(chunks));
      if (!request) return;
      chunks.length = 0;
      requests.push(request);
      onRequest(socket, request);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
