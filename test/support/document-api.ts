// The documents' HTTP API for tests: with people who have tokens, and streams of events.

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Database } from '../../persistence/database.ts';
import { openWakeListener } from '../../persistence/wake-listener.ts';
import { startAnnouncements } from '../../services/documents/announcements.ts';
import { documentRoutes } from '../../services/documents/routes.ts';
import type { SaveRoutesOptions } from '../../services/documents/save-routes.ts';
import type { Sent } from './api-client.ts';
import { typed } from './documents.ts';
import { readEvents } from './event-stream.ts';
import { openApi, tokenOf } from './open-api.ts';

/** Opens the API for one test, to ada, bob and eve. */
export async function openDocumentApi(
  database: Database,
  given: Pick<SaveRoutesOptions, 'saved'> = {},
) {
  const log = pino({ enabled: false });
  const wakes = await openWakeListener(database, {});
  onTestFinished(wakes.close);
  const announcements = startAnnouncements({ database, wakes, log });
  onTestFinished(announcements.close);
  const stopping = new AbortController();
  const routes = documentRoutes({ ...given, database, announcements });
  const api = await openApi({ database, routes, stopping: stopping.signal });

  async function person(sub: string) {
    const token = await tokenOf(sub);
    return {
      token,
      call: (method: string, path: string, body?: unknown, headers: Sent['headers'] = {}) =>
        api.call(method, path, { token, headers, ...(body !== undefined && { body }) }),
    };
  }
  const [ada, bob, eve] = [await person('ada'), await person('bob'), await person('eve')];

  return {
    ...{ api, ada, bob, eve, stopping },
    /** A record of ada's, which bob may edit. */
    async document(text = ''): Promise<string> {
      const body = { kind: 'record', name: 'notes', content: typed(text) };
      const made = await ada.call('POST', '/v1/documents', body);
      const id = String(made.body['id']);
      await ada.call('PUT', `/v1/documents/${id}/grants/bob`, { access: 'editor' });
      return id;
    },
    /** Follows documents as ada. */
    async follow(query: string) {
      const route = routes.find(({ path }) => path === '/v1/documents/events');
      if (!route || !('events' in route)) throw new Error('there is no stream');
      const gone = new AbortController();
      onTestFinished(() => gone.abort());
      const response = await fetch(`${api.url}/v1/documents/events?${query}`, {
        headers: { authorization: `Bearer ${ada.token}` },
        signal: gone.signal,
      });
      return { response, gone, ...readEvents(route, response) };
    },
  };
}

/** What a writer sends: one content under an id of its own. */
export const saving = (expectedVersion: number, text: string, more: object = {}) => ({
  saveId: randomUUID(),
  writer: randomUUID(),
  expectedVersion,
  content: typed(text),
  ...more,
});
