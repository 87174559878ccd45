// A table that is not what its machine declares: each difference is found, and all are named.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { checkTable } from '../../persistence/catalogue.ts';
import { transaction } from '../../persistence/transaction.ts';
import { useOpened } from '../support/opened.ts';
import { checked } from '../support/outbox-variants.ts';

const database = useOpened();
const undone = new Error('everything that was changed is rolled back');

/** What is found in a table that was changed like this, for this transaction alone. */
async function found(changes: readonly string[], machine: Machine = outbox): Promise<string> {
  let message = '';
  const work = transaction(database(), async (tx) => {
    for (const change of changes) await sql.raw(change).execute(tx);
    await checkTable(tx, machine).catch((error) => {
      expect(error).toMatchObject({ name: 'TableError', code: 'table_differs' });
      message = error.message;
    });
    throw undone;
  });
  await expect(work).rejects.toBe(undone);
  return message;
}

const table = 'alter table fencepost.delivery';
const frozenOver = (columns: string) => [
  'drop trigger frozen on fencepost.delivery',
  `create trigger frozen before update of ${columns} on fencepost.delivery
    for each row execute function fencepost.outbox_refuse_frozen()`,
];
const { frozen } = outbox;

describe('checkTable', () => {
  it('finds nothing in the table that the migrations make', async () => {
    expect(await found([])).toBe('');
  });

  it('finds nothing in triggers that fire always', async () => {
    expect(await found([`${table} enable always trigger guard`])).toBe('');
  });

  it.each<[string, readonly string[], string]>([
    ['a column that is missing', [`${table} drop column receipt`], 'no column receipt'],
    ["a column of the kernel's that is missing", [`${table} drop column actor`], 'no column actor'],
    [
      'a column of another type',
      [`${table} alter column failures type int8`],
      'failures is int8, the machine says int4',
    ],
    [
      'json that is not binary',
      [`${table} alter column receipt type json`],
      'receipt is json, the machine says jsonb',
    ],
    [
      'an instant without a zone',
      [`${table} alter column finished_at type timestamp`],
      'finished_at is timestamp, the machine says timestamptz',
    ],
    [
      'a column that may be null',
      [`${table} alter column max_failures drop not null`],
      'max_failures may be null, the machine says otherwise',
    ],
    [
      'a column that may not be null',
      [`${table} alter column last_error set not null`],
      'last_error is never null, the machine says otherwise',
    ],
    [
      'a frozen column that is not',
      frozenOver(['id', ...frozen.filter((name) => name !== 'payload')].join(', ')),
      'payload is not frozen there',
    ],
    ['an identity that is not frozen', frozenOver(frozen.join(', ')), 'id is not frozen there'],
    [
      'a column that is frozen and ought to move',
      frozenOver(['id', ...frozen, 'failures'].join(', ')),
      'failures is frozen there',
    ],
  ])('finds %s', async (_, changes, fault) => {
    const message = `machine outbox, table delivery: ${fault}. A migration is missing.`;
    expect(await found(changes)).toBe(message);
  });

  it.each(['birth', 'frozen', 'guard', 'truncated', 'journal', 'forget'])(
    'finds the trigger %s missing, disabled, or for replicas only',
    async (name) => {
      const fault = `no trigger ${name}, or it is disabled`;
      expect(await found([`drop trigger ${name} on fencepost.delivery`])).toContain(fault);
      expect(await found([`${table} disable trigger ${name}`])).toContain(fault);
      expect(await found([`${table} enable replica trigger ${name}`])).toContain(fault);
    },
  );

  it('finds that births are not judged by the checks that a machine has', async () => {
    expect(await found([], checked)).toContain('no trigger checked, or it is disabled');
  });

  it('finds another initial status', async () => {
    const machine = { ...outbox, initial: 'sent' } as const;
    expect(await found([], machine)).toContain('runs are not born as sent there');
  });

  it('finds no table at all', async () => {
    const machine: Machine = { ...outbox, table: 'letter' };
    const message =
      'machine outbox, table letter: the table does not exist. A migration is missing.';
    expect(await found([], machine)).toBe(message);
  });

  it('names everything at once', async () => {
    const columns = [`${table} drop column receipt`, `${table} alter column failures type int8`];
    const message = await found(columns);
    expect(message).toContain('no column receipt');
    expect(message).toContain('failures is int8');
    const triggers = await found([
      ...frozenOver('id'),
      `${table} disable trigger guard`,
      `${table} disable trigger journal`,
    ]);
    for (const name of ['guard', 'journal']) expect(triggers).toContain(`no trigger ${name}`);
    for (const name of frozen) expect(triggers).toContain(`${name} is not frozen there`);
  });
});
