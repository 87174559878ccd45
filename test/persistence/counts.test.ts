// How many runs are in each status, counted no further than was asked.

import { expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { countByStatus } from '../../persistence/counts.ts';
import { send } from '../../persistence/door.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, enqueue } from '../support/deliveries.ts';
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
