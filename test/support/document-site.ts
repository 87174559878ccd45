// A site with documents for tests in a real browser: the wire server behind real HTTP, with its
// stream of versions, and a page that has the client.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'vite';
import { wireServer } from '../../client/testing/wire-server.ts';
import { kinds } from '../../kinds/all.ts';

const entry = 'test/support/document-page.ts';

async function bundle(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, target: 'es2023', rollupOptions: { input: entry } },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((each) =>
    'output' in each ? each.output : [],
  );
  return outputs.flatMap((each) => (each.type === 'chunk' ? [each.code] : [])).join('\n');
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
};

export type Answerer = (request: IncomingMessage, response: ServerResponse) => boolean;

export async function startDocumentSite() {
  const script = await bundle();
  const wire = wireServer({ kinds, now: () => Date.now() });
  const streams = new Set<ServerResponse>();
  const saved = new Set<(content: unknown) => void>();
  /** Takes a request before the server does. */
  let intercept: Answerer = () => false;

  wire.onAnnounce((event, type) => {
    for (const each of streams) each.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '' } = request;
    if (path === '/script.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    } else if (path.startsWith('/v1/documents/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
      streams.add(response);
      response.on('close', () => streams.delete(response));
    } else if (path.startsWith('/v1/')) {
      const body = await bodyOf(request);
      if (intercept(request, response)) return;
      const reply = wire.answer({
        user: 'ada',
        method,
        path,
        ...(body ? { body } : { body: undefined }),
      });
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply.body));
      if (method === 'PUT') for (const each of saved) each(JSON.parse(body).content);
    } else {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        '<!doctype html><title>Documents</title><script type=module src=/script.js></script>',
      );
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    wire,
    url: `http://127.0.0.1:${port}`,
    streams: () => streams.size,
    intercept(by: Answerer) {
      intercept = by;
    },
    /** The next content that is stored. */
    nextSave: (): Promise<unknown> =>
      new Promise((resolve) => {
        const hear = (content: unknown) => {
          saved.delete(hear);
          resolve(content);
        };
        saved.add(hear);
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type DocumentSite = Awaited<ReturnType<typeof startDocumentSite>>;
