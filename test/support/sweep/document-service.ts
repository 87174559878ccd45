// The documents' routes behind the whole HTTP frame, for the process that is killed and for the one
// that comes after it. Nobody follows versions here.

import { pino } from 'pino';
import type { Database } from '../../../persistence/database.ts';
import { documentRoutes } from '../../../services/documents/routes.ts';
import { createApp } from '../../../services/http/app.ts';
import { listen } from '../../../services/http/listener.ts';
import { throwawayKeys } from '../../../services/http/own-keys.ts';
import type { Route } from '../../../services/http/route.ts';

export interface DocumentService {
  readonly url: string;
  /** Of the user ada. */
  readonly token: string;
  close(): Promise<void>;
}

/** Serves documents on a free port; `change` puts a bug into the routes. */
export async function serveDocuments(
  database: Database,
  change: (routes: readonly Route[]) => readonly Route[] = (routes) => routes,
): Promise<DocumentService> {
  const { identify, sign } = await throwawayKeys();
  const watch = async () => ({ ids: [], stop: () => undefined });
  const routes = change(documentRoutes({ database, announcements: { watch } }));
  const app = createApp({
    identify,
    log: pino({ enabled: false }),
    readiness: { phase: 'ready', state: async () => 'ready', isAway: async () => true },
    stopping: new AbortController().signal,
    served: () => ({ routes, database }),
  });
  const { url, close } = await listen(app, { host: '127.0.0.1', port: 0 });
  const token = await sign({ sub: 'ada', scopes: ['documents:write'], seconds: 600 });
  return { url, token, close: () => close(0) };
}
