// The deliveries' HTTP API on a free port, without a worker behind it: what a route writes stays as
// it was written. For tests of routes.

import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Database } from '../../persistence/database.ts';
import type { DeliveryRules } from '../../services/deliveries/new-delivery.ts';
import { deliveryRoutes } from '../../services/deliveries/routes.ts';
import { createApp } from '../../services/http/app.ts';
import { listen } from '../../services/http/listener.ts';

export interface Answered {
  readonly status: number;
  readonly location: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Opens the API for one test. A string is sent as it is, everything else as JSON. */
export async function openDeliveryApi(database: Database, rules: DeliveryRules = {}) {
  const routers = [deliveryRoutes({ database, sender: 'me@example.com', ...rules })];
  const app = createApp({
    log: pino({ enabled: false }),
    routers: () => routers,
    readiness: { phase: 'ready', state: async () => 'ready', isAway: async () => false },
  });
  const http = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => http.close(0));

  async function call(method: string, path: string, body?: unknown): Promise<Answered> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(http.url + path, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: text }),
    });
    const { status, headers } = response;
    return { status, location: headers.get('location'), body: await response.json() };
  }

  return {
    post: (path: string, body?: unknown) => call('POST', path, body),
    get: (path: string) => call('GET', path),
  };
}
