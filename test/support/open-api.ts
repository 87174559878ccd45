// The frame with some routes behind it, on a free port, in this process: for tests of routes. There
// is no worker, so what a route writes stays as it was written.

import { type Logger, pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Database } from '../../persistence/database.ts';
import { type AppOptions, createApp } from '../../services/http/app.ts';
import { healthRoutes } from '../../services/http/health.ts';
import { listen } from '../../services/http/listener.ts';
import { throwawayKeys } from '../../services/http/own-keys.ts';
import type { Route } from '../../services/http/route.ts';
import { allScopes, type Scope } from '../../services/http/scopes.ts';
import { toolRegistry } from '../../services/proposals/tools.ts';
import { apiClient } from './api-client.ts';

export const keys = await throwawayKeys();

export const tokenOf = (sub: string, scopes: readonly Scope[] = allScopes, seconds = 600) =>
  keys.sign({ sub, scopes, seconds });

export interface OpenApiOptions {
  readonly database: Database;
  readonly routes: readonly Route[];
  readonly log?: Logger;
  readonly stopping?: AbortSignal;
  readonly answered?: AppOptions['answered'];
}

export const readiness: AppOptions['readiness'] = {
  phase: 'ready',
  state: async () => 'ready',
  isAway: async () => false,
};

const neverCalled = (): never => {
  throw new Error('nobody is to come here');
};

/** What routes of plans stand on, in tests that do not call any. */
export const uncalled = {
  plans: {
    tools: toolRegistry([]),
    fourEyes: 'never',
    executor: { execute: neverCalled, watch: neverCalled },
    previewMs: 1000,
  },
} as const;

/** Opens the routes for one test, to a caller with all scopes. */
export async function openApi(options: OpenApiOptions) {
  const { database, routes, log = pino({ enabled: false }) } = options;
  const { stopping = new AbortController().signal, answered } = options;
  const { identify } = keys;
  const app = createApp({
    log,
    readiness,
    identify,
    stopping,
    ...(answered && { answered }),
    served: () => ({ routes, database }),
  });
  const http = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => http.close(0));
  const all = [...healthRoutes(readiness), ...routes];
  return apiClient({ url: http.url, routes: all, token: await tokenOf('tester') });
}
