// The stream of what happens to documents: one for all that a client has open.
//
// - It begins with the version that is current of each, so that a client which comes back needs no
//   place to go on from.
// - A client that does not read is not buffered for without end: nothing more is kept for it, and
//   its stream ends once it reads, so it comes back.

import { once } from 'node:events';
import { z } from 'zod';
import { many } from '../http/input.ts';
import { problem } from '../http/problem.ts';
import { eventRoute, type Route } from '../http/route.ts';
import type { Announcement, Announcements } from './announcements.ts';
import { documentId, instant, version } from './answers.ts';
import { kinds } from './problems.ts';

const mostWatched = 100;
const mostWaiting = 1000;

const events = {
  version: z
    .strictObject({
      id: documentId,
      version,
      saveId: z.uuid().nullable(),
      writer: z.uuid().nullable(),
      by: z.string(),
      at: instant,
    })
    .meta({ id: 'VersionEvent' }),
  deleted: z
    .strictObject({ id: documentId, at: instant, by: z.string() })
    .meta({ id: 'DeletedEvent' }),
  missing: z.strictObject({ id: documentId }).meta({ id: 'MissingEvent' }),
};

/** What is told, until somebody reads it. `onFull`: it is too much, and dropped. */
function queue(signal: AbortSignal, onFull: () => void) {
  const waiting: Announcement[] = [];
  const told = new EventTarget();
  let isFull = false;
  return {
    tell(announcement: Announcement): void {
      if (isFull) return;
      waiting.push(announcement);
      if (waiting.length > mostWaiting) {
        isFull = true;
        waiting.length = 0;
        onFull();
      }
      told.dispatchEvent(new Event('told'));
    },
    async *read(): AsyncGenerator<Announcement> {
      while (!signal.aborted && !isFull) {
        const next = waiting.shift();
        if (next) yield next;
        else await once(told, 'told', { signal }).catch(() => undefined);
      }
    },
  };
}

export const eventRoutes = (announcements: Pick<Announcements, 'watch'>): readonly Route[] => [
  eventRoute({
    path: '/v1/documents/events',
    scope: 'documents:read',
    operation: 'followDocuments',
    summary: 'Follow the versions of documents',
    query: z.strictObject({
      id: many(documentId)
        .pipe(z.array(documentId).min(1).max(mostWatched))
        .meta({ description: `A document, up to ${mostWatched} times` }),
    }),
    events,
    problems: [kinds.notFound],
  }).handle(async ({ query: { id: ids }, principal, signal }) => {
    let stop = () => {};
    const { tell, read } = queue(signal, () => stop());
    const watching = await announcements.watch(principal.sub, ids, tell);
    if (watching.ids.length === 0) {
      watching.stop();
      return problem(kinds.notFound, 'None of these is a document of yours, or shared with you.');
    }
    stop = watching.stop;
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    return (async function* untilGone() {
      try {
        yield* read();
      } finally {
        stop();
      }
    })();
  }),
];
