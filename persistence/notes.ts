// Notes: texts under an id. The small table that the tools `note.write` and `note.delete` change.

import { namedStatement } from './named-statement.ts';
import type { Tx } from './transaction.ts';

const insertNamed = namedStatement<never>(
  'insert_note',
  'insert into fencepost.note (id, text) values ($1, $2)',
  { savepoint: false },
);

/** Writes a note. @throws the driver's error where the id is taken. */
export async function insertNote(tx: Tx, id: string, text: string): Promise<void> {
  await insertNamed(tx, [id, text]);
}

/** Deletes a note and returns its text; undefined where there is none. */
export async function deleteNote(tx: Tx, id: string): Promise<string | undefined> {
  const row = await tx
    .deleteFrom('fencepost.note')
    .where('id', '=', id)
    .returning('text')
    .executeTakeFirst();
  return row?.text;
}
