// Runs come into being with what caused them, whole or not at all.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { create, InvalidValuesError, type NewRun } from '../../persistence/create.ts';
import { type Database, openDatabase } from '../../persistence/database.ts';
import type { CallError } from '../../persistence/door.ts';
import { sqlstateOf } from '../../persistence/sqlstate.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { useDatabase } from '../support/database.ts';

const url = useDatabase();
let database: Database;

beforeAll(async () => {
  database = await openDatabase({ url: url(), connections: 4 });
});
afterAll(() => database.close());

const delivery = (key: string): NewRun<typeof outbox> => ({
  channel: 'email',
  recipient: 'ada@example.com',
  payload: '{"snake_key":1,"__proto__":{}}',
  message_key: key,
});

const found = (ids: readonly string[]) =>
  database.db.selectFrom('fencepost.delivery').selectAll().where('id', 'in', ids).execute();

describe('create', () => {
  test('makes runs in the initial status, in order, with ids of version 7', async () => {
    const ids = await transaction(database, (tx) =>
      create(tx, outbox, [delivery('a'), delivery('b'), delivery('c')]),
    );
    const rows = await found(ids);
    expect(ids.map((id) => rows.find((row) => row.id === id)?.message_key)).toEqual([
      'a',
      'b',
      'c',
    ]);
    for (const row of rows) {
      expect(row).toMatchObject({ status: 'pending', attempts: 0, seq: 0, event: null });
      expect(row.id[14]).toBe('7');
      expect(row.payload).toBe('{"snake_key":1,"__proto__":{}}');
    }
  });

  test('leaves nothing behind when its transaction is rolled back', async () => {
    const id = '0192f0c1-2b7a-7c3e-8f00-000000000001';
    const doomed = transaction(database, async (tx) => {
      await create(tx, outbox, [{ ...delivery('gone'), id }]);
      throw new Error('the cause failed');
    });
    await expect(doomed).rejects.toThrow('the cause failed');
    expect(await found([id])).toEqual([]);
  });

  test('names every value that cannot be stored, and writes nothing', async () => {
    const bad = [
      delivery('good'),
      { ...delivery('x'), payload: 'a\u0000b' },
      { ...delivery('x'), recipient: '\ud800' },
      { ...delivery('x'), max_failures: 2 ** 31 },
      { ...delivery('x'), payload: 'x'.repeat(20_000_000) },
    ];
    const error = await transaction(database, (tx) => create(tx, outbox, bad)).catch((e) => e);
    expect(error).toBeInstanceOf(InvalidValuesError);
    expect(error.values).toEqual(
      expect.arrayContaining([
        { index: 1, column: 'payload', code: 'nul' },
        { index: 2, column: 'recipient', code: 'lone_surrogate' },
        { index: 3, column: 'max_failures', code: 'out_of_range' },
        { index: 4, column: 'payload', code: 'too_long' },
      ]),
    );
    const rows = await database.db
      .selectFrom('fencepost.delivery')
      .select('id')
      .where('message_key', 'in', ['good', 'x'])
      .execute();
    expect(rows).toEqual([]);
  });

  test.each(['status', 'attempts', 'lease_owner', 'nonsense'])(
    'refuses a birth that names the column %s',
    async (column) => {
      const run = { ...delivery('owned'), [column]: null } as NewRun<typeof outbox>;
      await expect(transaction(database, (tx) => create(tx, outbox, [run]))).rejects.toBeInstanceOf(
        InvalidValuesError,
      );
    },
  );

  test('a key whose first holder rolls back goes to the second', async () => {
    const id = '0192f0c1-2b7a-7c3e-8f00-000000000002';
    const insert = (tx: Tx, key: string) => create(tx, outbox, [{ ...delivery(key), id }]);
    const rollBack = new Error('rolled back');
    let second: Promise<readonly string[]> | undefined;
    const first = transaction(database, async (tx) => {
      await insert(tx, 'first');
      second = transaction(database, (other) => insert(other, 'second'));
      throw rollBack;
    });
    await expect(first).rejects.toBe(rollBack);
    expect(await second).toEqual([id]);
    expect((await found([id])).map((row) => row.message_key)).toEqual(['second']);
  });

  test('a key that is taken is an error that leaves the transaction usable', async () => {
    const [id = ''] = await transaction(database, (tx) => create(tx, outbox, [delivery('one')]));
    const state = await transaction(database, async (tx) => {
      const error = await create(tx, outbox, [{ ...delivery('two'), id }]).catch((e) => e);
      await create(tx, outbox, [delivery('after the error')]);
      return sqlstateOf(error);
    });
    expect(state).toBe('23505');
    const after = await database.db
      .selectFrom('fencepost.delivery')
      .select('id')
      .where('message_key', '=', 'after the error')
      .execute();
    expect(after).toHaveLength(1);
  });

  test('says which machine is not installed', async () => {
    const stranger = { ...outbox, description: 'Never installed.' };
    await expect(
      transaction(database, (tx) => create(tx, stranger, [delivery('z')])),
    ).rejects.toMatchObject({ code: 'not_installed' } satisfies Partial<CallError>);
  });
});
