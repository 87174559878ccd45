// A machine's transitions as events with ids.

import { expect, it, onTestFinished } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import type { Database } from '../../../persistence/database.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { eventsAfter, presentEvent } from '../../../services/machines/stream.ts';
import { cloneTemplate } from '../../support/database.ts';
import { claimedOne } from '../../support/deliveries.ts';
import { opened, useOpened } from '../../support/opened.ts';
import { startThrowawayPostgres } from '../../support/throwaway-postgres.ts';

const database = useOpened();

/**
 * A database on a server of its own: whatever is open anywhere on a server holds the stream up, and
 * that of the run has the other test files. An ANALYZE that begins by itself counts too.
 */
async function openedAlone(): Promise<Database> {
  const server = await startThrowawayPostgres({ autovacuum: 'off' });
  onTestFinished(() => server.stop());
  const { url } = await cloneTemplate(server.url);
  return await opened({ url });
}

it('begins with the present, and goes on after what was seen last', async () => {
  const alone = await openedAlone();
  await claimedOne(alone);
  const present = await presentEvent(alone);
  const { id, attempts: fence } = await claimedOne(alone);
  await transaction(alone, (tx) => send(tx, outbox, 'sent', { id, fence }));
  const page = await eventsAfter(alone, outbox, present);
  const seen = page?.events.map((event) => [event.run, event.from, event.event, event.to]);
  expect(seen).toEqual([
    [id, 'pending', 'claim', 'processing'],
    [id, 'processing', 'sent', 'sent'],
  ]);
  const [first] = page?.events ?? [];
  const rest = await eventsAfter(alone, outbox, first?.id ?? '');
  expect(rest?.events).toEqual(page?.events.slice(1));
  expect((await eventsAfter(alone, outbox, page?.next ?? ''))?.events).toEqual([]);
});

it.each([
  '',
  '7',
  'latest',
  '7.not-a-run.1',
  '-1.00000000-0000-0000-0000-000000000000.1',
  '7.00000000-0000-0000-0000-000000000000.2147483648',
  '99999999999999999999.00000000-0000-0000-0000-000000000000.1',
  "7.00000000-0000-0000-0000-000000000000.1'",
])('refuses %j, which is no id of an event', async (id) => {
  expect(await eventsAfter(database(), outbox, id)).toBeUndefined();
});
