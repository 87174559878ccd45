// Narrowing an installed definition: who is in the way, what is refused afterwards, and what
// becomes of processes that did not notice.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { contractMachine, restoreDefinition } from '../../persistence/definitions.ts';
import { transaction } from '../../persistence/transaction.ts';
import { enqueue, statusOf } from '../support/deliveries.ts';
import { install, move, numbers, refused, sendAs } from '../support/installing.ts';
import { claimLoosely, sendOneLoosely } from '../support/loose-door.ts';
import { fresh } from '../support/opened.ts';
import { cancelable, checked, grabbing, parkable } from '../support/outbox-variants.ts';

describe('a contraction', () => {
  it('is refused while runs are in a status that would go, and names them', async () => {
    const database = await fresh();
    await install(database, parkable);
    const ids = await enqueue(database, 3);
    for (const id of ids.slice(0, 2)) await sendAs(database, parkable, 'park', id);
    const error = await refused(contractMachine(database, outbox));
    expect(error.code).toBe('runs_in_removed_status');
    const [parked] = ids.slice(0, 2).toSorted();
    expect(error.message).toContain(`2 in "parked", ${parked} for one`);
    expect(await install(database, outbox)).toMatchObject({ enforced: 'wider' });
  });

  it('narrows once they are gone, and the database then refuses what went', async () => {
    const database = await fresh();
    await install(database, parkable);
    const [id = ''] = await enqueue(database);
    await sendAs(database, parkable, 'park', id);
    await sendAs(database, parkable, 'unpark', id);
    const narrowed = { machine: 'outbox', number: 1, enforced: 'mine', change: 'contracted' };
    expect(await contractMachine(database, outbox)).toEqual(narrowed);
    const parked = await sendAs(database, parkable, 'park', id);
    expect(parked).toMatchObject({ outcome: 'invalid', where: 'outbox_arrow' });
    await expect(move(database, id, 'parked')).rejects.toMatchObject({ code: '23514' });
    expect(await contractMachine(database, outbox)).toMatchObject({ change: 'unchanged' });
  });

  it('to a wider one is refused', async () => {
    const database = await fresh();
    const error = await refused(contractMachine(database, cancelable));
    expect(error.code).toBe('definition_is_not_narrower');
    expect(error.message).toContain('arrow pending → failed by cancel');
    expect(await numbers(database)).toEqual([{ number: 1, current: true }]);
  });

  it('waits for who is on the way into a status that would go', async () => {
    const database = await fresh();
    await install(database, parkable);
    const [id = ''] = await enqueue(database);
    const narrowing = await transaction(database, async (tx) => {
      await sendOneLoosely(tx, parkable, 'park', { id, actor: 'ada' });
      return { refused: refused(contractMachine(database, outbox)) };
    });
    expect((await narrowing.refused).code).toBe('runs_in_removed_status');
  });

  it('is what adds a check, which an install leaves out', async () => {
    const database = await fresh();
    // The migration that comes with a first check: births are judged too.
    await sql`create trigger checked before insert on fencepost.delivery for each row
      execute function fencepost.outbox_guard()`.execute(database.db);
    expect(await install(database, checked)).toMatchObject({ number: 2, enforced: 'wider' });
    const [id = ''] = await enqueue(database);
    const fail = (failures: number) =>
      sql`update fencepost.delivery set failures = ${failures}::int4 where id = ${id}::uuid`.execute(
        database.db,
      );
    await fail(4);
    const early = await contractMachine(database, checked).catch((error) => error);
    expect(early).toMatchObject({ code: 'runs_against_check' });
    expect(early.message).toContain(`1 against "stubborn", ${id} for one`);
    await fail(3);
    expect(await contractMachine(database, checked)).toMatchObject({ change: 'contracted' });
    await expect(fail(5)).rejects.toMatchObject({ constraint: 'outbox_stubborn' });
  });

  it('is not taken back by an old process that starts again, only by command', async () => {
    const database = await fresh();
    await install(database, grabbing);
    await contractMachine(database, outbox);
    await expect(install(database, grabbing)).rejects.toMatchObject({ code: 'definition_retired' });
    expect(await restoreDefinition(database, grabbing)).toBe(2);
    expect(await install(database, grabbing)).toMatchObject({ number: 2, change: 'widened' });
  });
});

describe('a process that still runs what was narrowed', () => {
  it('is refused, and sets no run aside for it', async () => {
    const database = await fresh();
    await install(database, grabbing);
    await contractMachine(database, outbox);
    const ids = await enqueue(database, 3);
    const options = { limit: 10, owner: 'w', lease_ms: 60_000 };
    const grab = transaction(database, (tx) => claimLoosely(tx, grabbing, 'grab', options));
    await expect(grab).rejects.toMatchObject({ constraint: 'outbox_arrow' });
    const { rows } = await sql`select run from fencepost.quarantine`.execute(database.db);
    expect(rows).toEqual([]);
    expect(await statusOf(database, ids[0] ?? '')).toBe('pending');
  });
});
