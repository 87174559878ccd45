// A TCP proxy in front of the test's Postgres, for what a network does to a connection: silence in
// one direction or in both, an answer that never arrives, a cut.
//
// - Nothing is judged by time: `drop` resolves when the server's answer was thrown away.

import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';

export interface Proxy {
  /** The address of the database, through the proxy. */
  readonly url: string;
  /** Connections that clients have through it. */
  readonly connections: number;
  /** Forwards nothing more in either direction, and closes nothing; new connections get silence. */
  hold(): void;
  /** The same for the connections that listen. @returns how many there are. */
  holdListeners(): number;
  /** Cuts every connection, and each new one at once: the server is away. */
  refuse(): void;
  /** Forwards again, for new connections; the held ones stay silent. */
  release(): void;
  /** Throws away what the server says from here on. Resolves when it has said something. */
  drop(): Promise<void>;
  /** Cuts every connection, on both sides. */
  cut(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  mode: 'forward' | 'hold' | 'drop';
  listens: boolean;
  onDropped: () => void;
}

const keyData = Buffer.from([0x4b, 0, 0, 0, 12]);

/** Puts another process id into the server's BackendKeyData, as a pooler does. */
function withProcessId(chunk: Buffer, processId: number | undefined): Buffer {
  const at = chunk.indexOf(keyData);
  if (processId === undefined || at < 0) return chunk;
  const copy = Buffer.from(chunk);
  copy.writeInt32BE(processId, at + keyData.length);
  return copy;
}

const notification = 0x41;

/** Takes the notifications out of what the server says. Each chunk holds whole messages. */
function withoutNotifications(chunk: Buffer): Buffer {
  const kept: Buffer[] = [];
  for (let at = 0; at < chunk.length; ) {
    const end = at + 1 + chunk.readInt32BE(at + 1);
    if (chunk[at] !== notification) kept.push(chunk.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

interface Tampering {
  /** What clients are told to be the process id of their backend. */
  readonly processId?: number;
  /** Notifications do not get through. */
  readonly isDeaf?: boolean;
}

/** Opens a proxy. */
export async function openProxy(
  url: string,
  { processId, isDeaf = false }: Tampering = {},
): Promise<Proxy> {
  const target = new URL(url);
  const pairs = new Set<Pair>();
  let arriving: 'forward' | 'hold' | 'refuse' = 'forward';

  const listener = createServer((client) => {
    if (arriving === 'refuse') {
      client.destroy();
      return;
    }
    const server = dial(Number(target.port), target.hostname);
    const pair: Pair = { client, server, mode: arriving, listens: false, onDropped: () => {} };
    pairs.add(pair);
    const end = () => {
      // Half-open: one side does not hear that the other one is gone.
      if (pair.mode === 'hold') return;
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end).setNoDelay();
    client.on('data', (chunk) => {
      if (chunk.includes('listen ')) pair.listens = true;
      if (pair.mode !== 'hold') server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (pair.mode === 'drop') pair.onDropped();
      if (pair.mode !== 'forward') return;
      const heard = isDeaf ? withoutNotifications(chunk) : chunk;
      client.write(withProcessId(heard, processId));
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('not a TCP port');
  const through = new URL(url);
  through.port = String(address.port);

  const cut = () => {
    for (const pair of pairs) {
      pair.mode = 'forward';
      pair.client.destroy();
      pair.server.destroy();
    }
  };
  return {
    url: through.href,
    get connections() {
      return pairs.size;
    },
    hold() {
      arriving = 'hold';
      for (const pair of pairs) pair.mode = 'hold';
    },
    holdListeners() {
      const listening = [...pairs].filter(({ listens }) => listens);
      for (const pair of listening) pair.mode = 'hold';
      return listening.length;
    },
    refuse() {
      arriving = 'refuse';
      cut();
    },
    release() {
      arriving = 'forward';
    },
    drop() {
      return new Promise((resolve) => {
        for (const pair of pairs) {
          pair.mode = 'drop';
          pair.onDropped = resolve;
        }
      });
    },
    cut,
    async close() {
      cut();
      listener.close();
      await once(listener, 'close');
    },
  };
}
