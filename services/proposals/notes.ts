// The tools `note.write` and `note.delete`: small, real, and each other's inverse.

import { z } from 'zod';
import { deleteNote, insertNote } from '../../persistence/notes.ts';
import { textFault } from '../../persistence/text.ts';
import { defineTool } from './tools.ts';

const longest = 100_000;
const shown = 60;

const text = z
  .string()
  .min(1)
  .max(longest)
  .refine((value) => textFault(value) === undefined, 'This text cannot be stored as it is.');
const id = z.uuid();

const start = (whole: string) => (whole.length > shown ? `${whole.slice(0, shown)}…` : whole);

export const noteWrite = defineTool({
  name: 'note.write',
  version: 1,
  description: 'Writes a new note under an id that is not taken.',
  risk: 'low',
  input: z.strictObject({ id, text }),
  async run(tx, note) {
    await insertNote(tx, note.id, note.text);
    return { id: note.id };
  },
  inverse: ({ arguments: note }) => ({
    step: { tool: 'note.delete', arguments: { id: (note as { readonly id: string }).id } },
  }),
  sentence: (note) => `Writes the note ${note.id}: “${start(note.text)}”`,
});

export const noteDelete = defineTool({
  name: 'note.delete',
  version: 1,
  description: 'Deletes a note. Its text is kept in the receipt.',
  risk: 'medium',
  input: z.strictObject({ id }),
  async run(tx, note) {
    const deleted = await deleteNote(tx, note.id);
    if (deleted === undefined) throw new Error(`there is no note ${note.id}`);
    return { id: note.id, text: deleted };
  },
  inverse: ({ output }) => ({ step: { tool: 'note.write', arguments: output } }),
  sentence: (note) => `Deletes the note ${note.id}.`,
});
