// What the tests of installed definitions do again and again: install one machine, be refused, send
// as a process that has another version, write by hand.

import { sql } from 'kysely';
import { machines } from '../../machines/all.ts';
import { outbox } from '../../machines/outbox.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { type DefinitionError, installMachines } from '../../persistence/definitions.ts';
import { transaction } from '../../persistence/transaction.ts';
import { sendOneLoosely } from './loose-door.ts';

export async function install(database: Database, machine: Machine) {
  const [installed] = await installMachines(database, [machine]);
  return installed;
}

/** Sends an event as a process that runs this version of the machine. */
export const sendAs = (database: Database, machine: Machine, event: string, id: string) =>
  transaction(database, (tx) => sendOneLoosely(tx, machine, event, { id, actor: 'ada' }));

/** A write by hand, which only the database's own guard judges. */
export const move = ({ db }: Database, id: string, status: string) =>
  sql`update fencepost.delivery set status = ${status} where id = ${id}::uuid`.execute(db);

const others = machines.filter((machine) => machine !== outbox).map(({ id }) => id);

/** Every definition that was recorded, but those of the service's other machines. */
export const numbers = ({ db }: Database) =>
  db
    .selectFrom('fencepost.machine_installed')
    .select(['number', 'current'])
    .where('machine', 'not in', others)
    .orderBy('number')
    .execute();

export async function definitionOf({ db }: Database, id: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('fencepost.delivery')
    .select('definition')
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.definition;
}

/** The error with which an install or a contraction is refused. */
export async function refused(work: Promise<unknown>): Promise<DefinitionError> {
  try {
    await work;
  } catch (error) {
    return error as DefinitionError;
  }
  throw new Error('it was not refused');
}
