// Two versions of a machine and one database: what an install finds, what it changes, what it
// refuses, and what the database then enforces.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Machine } from '../../machines/status-machine.ts';
import {
  compareDefinitions,
  installedDefinitions,
  installMachines,
} from '../../persistence/definitions.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, enqueue, statusOf } from '../support/deliveries.ts';
import { definitionOf, install, move, numbers, refused, sendAs } from '../support/installing.ts';
import { claimLoosely } from '../support/loose-door.ts';
import { fresh } from '../support/opened.ts';
import {
  cancelable,
  choosy,
  diverged,
  parkable,
  renamed,
  revivable,
} from '../support/outbox-variants.ts';

describe('an install', () => {
  it('of what is installed changes nothing', async () => {
    const database = await fresh();
    const unchanged = { machine: 'outbox', number: 1, enforced: 'mine', change: 'unchanged' };
    expect(await install(database, outbox)).toEqual(unchanged);
    expect(await numbers(database)).toEqual([{ number: 1, current: true }]);
  });

  it('of the first definition installs it', async () => {
    const database = await fresh();
    await sql`delete from fencepost.machine_installed`.execute(database.db);
    expect(await compareDefinitions(database, outbox)).toBeUndefined();
    expect(await install(database, outbox)).toMatchObject({ change: 'installed', number: 1 });
  });

  it('of more widens what is installed, and the database permits the new arrow', async () => {
    const database = await fresh();
    const [byHand = '', byEvent = ''] = await enqueue(database, 2);
    await expect(move(database, byHand, 'failed')).rejects.toMatchObject({
      constraint: 'outbox_arrow',
    });
    expect(await install(database, cancelable)).toMatchObject({ number: 2, change: 'widened' });
    await move(database, byHand, 'failed');
    const canceled = await sendAs(database, cancelable, 'cancel', byEvent);
    expect(canceled.outcome).toBe('applied');
    expect(await statusOf(database, byHand)).toBe('failed');
    expect(await numbers(database)).toEqual([
      { number: 1, current: false },
      { number: 2, current: true },
    ]);
  });

  it('of less leaves the wider one alone; both work on, each under its number', async () => {
    const database = await fresh();
    await install(database, cancelable);
    const left = { machine: 'outbox', number: 1, enforced: 'wider', change: 'unchanged' };
    expect(await install(database, outbox)).toEqual(left);
    const [mine = '', theirs = ''] = await enqueue(database, 2);
    expect(await definitionOf(database, mine)).toBe(1);
    expect((await sendAs(database, cancelable, 'cancel', theirs)).outcome).toBe('applied');
    expect(await definitionOf(database, theirs)).toBe(2);
    await claimed(database);
    expect(await definitionOf(database, mine)).toBe(1);
    expect(await installedDefinitions(database, outbox)).toEqual([
      { number: 1, current: false, runs: 1 },
      { number: 2, current: true, runs: 0 },
    ]);
  });

  it('of less, never seen before, is a definition of its own', async () => {
    const database = await fresh();
    await sql`delete from fencepost.machine_installed`.execute(database.db);
    await install(database, parkable);
    expect(await install(database, outbox)).toMatchObject({ number: 2, enforced: 'wider' });
    expect(await numbers(database)).toEqual([
      { number: 1, current: true },
      { number: 2, current: false },
    ]);
  });

  it('of other guards alone changes nothing that is enforced, and has another number', async () => {
    const database = await fresh();
    const [nobody = ''] = await enqueue(database, 1, { recipient: 'nobody' });
    expect(await install(database, choosy)).toMatchObject({ number: 2, change: 'unchanged' });
    const options = { limit: 10, owner: 'w', lease_ms: 60_000 };
    const claims = (machine: Machine) =>
      transaction(database, (tx) => claimLoosely(tx, machine, 'claim', options));
    expect(await claims(choosy)).toEqual([]);
    expect(await claims(outbox)).toMatchObject([{ id: nobody }]);
    expect(await definitionOf(database, nobody)).toBe(1);
  });

  it('of what has diverged is refused, and says what only one of both permits', async () => {
    const database = await fresh();
    const error = await refused(install(database, diverged));
    expect(error).toMatchObject({
      name: 'DefinitionError',
      code: 'definition_diverged',
      machine: 'outbox',
      difference: {
        wider: ['arrow pending → failed by cancel'],
        narrower: ['arrow processing → pending by throttle', 'arrow processing → dead by throttle'],
      },
    });
    const [first, mine, theirs, advice] = error.message.split(/\n {2}(?! )/);
    expect(first).toContain('machine outbox');
    expect(mine).toMatch(/^Only this process:\n {4}arrow pending → failed by cancel$/);
    expect(theirs).toMatch(/^Only the database:\n {4}arrow processing → pending by throttle/);
    expect(advice).toContain('contract');
    expect(await numbers(database)).toEqual([{ number: 1, current: true }]);
  });

  it('of one in which a status is final no more is wider', async () => {
    const database = await fresh();
    expect(await install(database, revivable)).toMatchObject({ change: 'widened' });
  });

  it('of one that renamed a status names the status that runs are in', async () => {
    const database = await fresh();
    const { id } = await claimedOne(database);
    const error = await refused(install(database, renamed));
    expect(error.code).toBe('definition_diverged');
    const status = await statusOf(database, id);
    expect(error.message).toContain(`status ${status} with an owner`);
    expect(error.message).toContain('status sending with an owner');
  });

  it('of several machines is all or none', async () => {
    const database = await fresh();
    await refused(installMachines(database, [cancelable, diverged, renamed]));
    expect(await compareDefinitions(database, outbox)).toEqual({ wider: [], narrower: [] });
    expect(await numbers(database)).toEqual([{ number: 1, current: true }]);
  });
});

it.each([
  ['a machine', { ...outbox, id: "o'brien" }],
  ['a table', { ...outbox, table: 'a"b' }],
  ['a machine, over two lines', { ...outbox, id: 'a\nb' }],
  ['a machine that ends a quote', { ...outbox, id: 'a$guard$b' }],
])('a hostile name of %s is refused before anything is written', async (_, machine: Machine) => {
  const database = await fresh();
  await expect(install(database, machine)).rejects.toMatchObject({ name: 'MachineError' });
  expect(await numbers(database)).toEqual([{ number: 1, current: true }]);
});

it('a machine that was never installed is a mistake of the caller', async () => {
  const database = await fresh();
  const [id = ''] = await enqueue(database);
  const options = { limit: 10, owner: 'w', lease_ms: 60_000 };
  const claims = transaction(database, (tx) => claimLoosely(tx, choosy, 'claim', options));
  await expect(claims).rejects.toMatchObject({ name: 'CallError', code: 'not_installed' });
  expect(await statusOf(database, id)).toBe('pending');
});
