// The kind `spreadsheet`: sparse cells by their names, `{ cells: { A1: 3, B1: "=A1*2" } }`.
//
// - A formula is text that begins with "=". It is kept, not computed.
// - An empty cell is left out, so that one sheet has one content.
// - No merge: a formula means what the cells around it mean, so cells that two people changed apart
//   from each other do not make a sheet that either of them meant.

import { describeEntries, entriesOf, tableProblems } from './entries.ts';
import type { EntryRules, Kind } from './kind.ts';

const cellName = /^[A-Z]{1,3}[1-9][0-9]{0,6}$/;
/** As in the spreadsheets that people come from. */
const longestCell = 32_767;

function faultOf(id: string, value: unknown): { code: string; detail: string } | undefined {
  if (!cellName.test(id)) {
    return { code: 'bad_cell', detail: 'A cell is named by its column and row, such as B7.' };
  }
  if (value === '') return { code: 'empty_cell', detail: 'An empty cell is left out.' };
  if (typeof value === 'string') {
    if (value.length <= longestCell) return undefined;
    return { code: 'too_long', detail: `A cell holds at most ${longestCell} characters.` };
  }
  if (typeof value === 'number' || typeof value === 'boolean') return undefined;
  return { code: 'bad_cell_value', detail: 'A cell holds a text, a number, true or false.' };
}

const table: EntryRules = { name: 'cells', faultOf };

export const spreadsheet: Kind = {
  id: 'spreadsheet',
  empty: { cells: {} },
  table,
  check: (content) => tableProblems(content, table),
  describe: (before, after) =>
    describeEntries(entriesOf(before, table.name), entriesOf(after, table.name)),
};
