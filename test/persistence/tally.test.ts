import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { send } from '../../persistence/door.ts';
import { openHandle } from '../../persistence/handle.ts';
import { talliesOf } from '../../persistence/tally.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, enqueue } from '../support/deliveries.ts';
import { fresh } from '../support/opened.ts';

describe('the tally', () => {
  it('counts what a tool sends beside what its step does', async () => {
    const database = await fresh();
    await enqueue(database, 3);
    const runs = await claimed(database, 3);
    const [first, second, third] = runs.map(({ id, attempts }) => ({ id, fence: attempts }));
    if (!first || !second || !third) throw new Error('three were to be claimed');
    await transaction(database, async (tx) => {
      await send(tx, outbox, 'release', first);
      const handle = openHandle(tx);
      await send(handle.tx, outbox, 'release', second);
      await send(tx, outbox, 'release', third);
    });
    const release = { machine: 'outbox', event: 'release', outcome: 'applied', count: 3 };
    expect(talliesOf(database)).toContainEqual(release);
  });
});
