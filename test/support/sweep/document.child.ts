// A service of documents that the crash sweep kills. Its arguments are where the writer is told
// that it serves, and perhaps a bug by its name. The writer answers when it is done.

import { sql } from 'kysely';
import type { Database } from '../../../persistence/database.ts';
import { isProblem, type Route } from '../../../services/http/route.ts';
import { serveDocuments } from './document-service.ts';
import { sweptChild } from './swept-child.ts';

/** The bug: the receipt is written behind the save that it is of, in another transaction. */
const receiptBehind =
  (database: Database) =>
  (route: Route): Route => {
    if ('events' in route || route.operation !== 'saveDocument') return route;
    return {
      ...route,
      async handle(context) {
        const reply = await route.handle(context);
        if (isProblem(reply)) return reply;
        await sql`insert into fencepost.document_save (document, writer, save, version, hash)
          select document, writer, save, version, hash from fencepost.document_revision
          where save is not null on conflict do nothing`.execute(database.db);
        return reply;
      },
    };
  };

await sweptChild(async (database, [writer = '', mutant]) => {
  const isBad = mutant === 'receipt in another transaction';
  const service = await serveDocuments(database, (routes) =>
    isBad ? routes.map(receiptBehind(database)) : routes,
  );
  return {
    async work() {
      const { url, token } = service;
      const served = { method: 'POST', body: JSON.stringify({ url, token }) };
      await (await fetch(writer, served)).arrayBuffer();
    },
    close: service.close,
  };
});
