// How many runs are in each status, counted no further than was asked.

import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { countByStatus, countStatement } from '../../persistence/counts.ts';
import { send } from '../../persistence/door.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, enqueue } from '../support/deliveries.ts';
import { explain } from '../support/explain.ts';
import { fresh } from '../support/opened.ts';

it('counts every status, those without runs too', async () => {
  const database = await fresh();
  const { id, attempts: fence } = await claimedOne(database);
  await transaction(database, (tx) => send(tx, outbox, 'sent', { id, fence }));
  await enqueue(database, 5);
  await claimed(database, 2);
  expect([...(await countByStatus(database.db, outbox, 100))]).toEqual([
    ['pending', 3],
    ['processing', 2],
    ['sent', 1],
    ['failed', 0],
    ['dead', 0],
  ]);
});

it('counts one beyond the bound, and no further', async () => {
  const database = await fresh();
  await enqueue(database, 6);
  const counted = async (most: number) =>
    (await countByStatus(database.db, outbox, most)).get('pending');
  expect([await counted(4), await counted(5), await counted(6), await counted(7)]).toEqual([
    5, 6, 6, 6,
  ]);
});

it('finds a rare final status without reading the table', async () => {
  const database = await fresh();
  await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`insert into fencepost.delivery
      (id, definition, channel, recipient, payload, message_key, status, finished_at)
      select gen_random_uuid(), 1, 'email', 'ada@example.org', '{}', n::text,
        case when n = 1 then 'dead' else 'sent' end, now()
      from generate_series(1, 5000) n`.execute(tx);
  });
  await sql`analyze fencepost.delivery`.execute(database.db);
  expect((await countByStatus(database.db, outbox, 10)).get('dead')).toBe(1);
  const statement = { text: countStatement(outbox, 10), parameters: [] };
  const { access, text } = await explain(database, { statement, values: () => undefined });
  expect(access).toContain('delivery_finished');
  const rare = text.split('"Parallel Aware"').filter((part) => part.includes("'dead'"));
  expect(rare.join()).not.toContain('Seq Scan');
});
