// A machine's transitions as events with ids.

import { expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { eventsAfter, presentEvent } from '../../../services/machines/stream.ts';
import { claimedOne } from '../../support/deliveries.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();

it('begins with the present, and goes on after what was seen last', async () => {
  await claimedOne(database());
  const present = await presentEvent(database());
  const { id, attempts: fence } = await claimedOne(database());
  await transaction(database(), (tx) => send(tx, outbox, 'sent', { id, fence }));
  const page = await eventsAfter(database(), outbox, present);
  const seen = page?.events.map((event) => [event.run, event.from, event.event, event.to]);
  expect(seen).toEqual([
    [id, 'pending', 'claim', 'processing'],
    [id, 'processing', 'sent', 'sent'],
  ]);
  const [first] = page?.events ?? [];
  const rest = await eventsAfter(database(), outbox, first?.id ?? '');
  expect(rest?.events).toEqual(page?.events.slice(1));
  expect((await eventsAfter(database(), outbox, page?.next ?? ''))?.events).toEqual([]);
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
