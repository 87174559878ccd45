// Ends a connection without asking the other side, which may not be there any more.

import type pg from 'pg';

/** Destroys the socket. The server ends the session, and its transaction, when it notices. */
export function cutConnection(client: pg.ClientBase): void {
  // node-postgres has no public way: `end()` waits for the queries that are under way.
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}
