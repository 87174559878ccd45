import { describe, expect, it, vi } from 'vitest';
import type { Announcement, Announcements } from '../../../services/documents/announcements.ts';
import { eventRoutes } from '../../../services/documents/event-routes.ts';

const id = '00000000-0000-4000-8000-000000000001';
const principal = { sub: 'ada', scopes: new Set(['documents:read'] as const) };
const nothing = { params: undefined, headers: undefined, body: undefined, tx: undefined };
const asked = { ...nothing, query: { id: [id] }, requestId: '1', lastEventId: undefined };

/** The stream of a client, and by hand what is announced to it. */
async function opened() {
  const leaving = new AbortController();
  const stop = vi.fn();
  let tell: (announcement: Announcement) => void = () => undefined;
  const watch: Announcements['watch'] = async (_, ids, teller) => {
    tell = teller;
    return { ids, stop };
  };
  const [route] = eventRoutes({ watch });
  if (!route || !('open' in route)) throw new Error('it is no stream');
  const { signal } = leaving;
  const stream = await route.open({ ...asked, principal, signal, textOf: () => undefined });
  if ('kind' in stream) throw new Error('it is a problem');
  const events = stream[Symbol.asyncIterator]();
  const missing = () => tell({ event: 'missing', data: { id } });
  return { events, stop, missing, leaving };
}

describe('the stream of documents', () => {
  it('keeps what is told until it is read', async () => {
    const { events, stop, missing, leaving } = await opened();
    for (let n = 0; n < 1000; n += 1) missing();
    for (let n = 0; n < 1000; n += 1) {
      expect((await events.next()).value).toEqual({ event: 'missing', data: { id } });
    }
    expect(stop).not.toHaveBeenCalled();
    leaving.abort();
    expect(stop).toHaveBeenCalled();
  });

  it('keeps nothing for a client that does not read, and ends when it does', async () => {
    const { events, stop, missing } = await opened();
    missing();
    expect((await events.next()).done).toBe(false);
    for (let n = 0; n < 1001; n += 1) missing();
    expect(stop).toHaveBeenCalledTimes(1);
    expect((await events.next()).done).toBe(true);
  });
});
