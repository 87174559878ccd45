import { describe, expect, it } from 'vitest';
import { spreadsheet } from '../../kinds/spreadsheet.ts';

const problemOf = (cells: unknown) => spreadsheet.check({ cells })[0];

describe('a spreadsheet', () => {
  it('takes sparse cells with texts, numbers, truth and formulas', () => {
    expect(problemOf({ A1: 1, XFD1048576: '=SUM(A1:A9)', B2: true, C3: 'x' })).toBe(undefined);
  });

  it.each(['a1', 'A0', 'A01', 'AAAA1', 'A', '1', '', '__proto__', 'constructor', 'toString'])(
    'refuses "%s" as the name of a cell, by its place',
    (name) => {
      const cells = JSON.parse(`{${JSON.stringify(name)}:1}`);
      expect(problemOf(cells)).toMatchObject({ code: 'bad_cell', pointer: `/cells/${name}` });
    },
  );

  it('refuses an empty cell, so that one sheet has one content', () => {
    expect(problemOf({ A1: '' })).toMatchObject({ code: 'empty_cell', pointer: '/cells/A1' });
  });

  it.each([null, [], {}])('refuses %j in a cell', (value) => {
    expect(problemOf({ A1: value })).toMatchObject({ code: 'bad_cell_value' });
  });

  it('refuses what a cell cannot hold', () => {
    expect(problemOf({ A1: 'x'.repeat(32_767) })).toBe(undefined);
    expect(problemOf({ A1: 'x'.repeat(32_768) })).toMatchObject({ code: 'too_long' });
  });

  it('names the cell of a NUL and of a division by zero', () => {
    expect(problemOf({ B7: 'a\u0000' })).toMatchObject({ code: 'nul', pointer: '/cells/B7' });
    expect(problemOf({ B7: 0 / 0 })).toMatchObject({ code: 'not_a_number', pointer: '/cells/B7' });
  });

  it('refuses what is not only cells', () => {
    expect(spreadsheet.check({ cells: {}, rows: [] })).toMatchObject([
      { code: 'wrong_shape', pointer: '/rows' },
    ]);
  });

  it('tells what changes, the first few by name', () => {
    const before = { cells: { A1: 1, A2: 2, A3: 3 } };
    const after = { cells: { A1: 1, A2: '=A1', B1: 1, B2: 1, B3: 1, B4: 1, B5: 1 } };
    expect(spreadsheet.describe(before, after)).toBe(
      'adds B1, B2, B3 and 2 more; changes A2; removes A3',
    );
  });

  it('does not merge', () => {
    expect(spreadsheet.merge).toBe(undefined);
  });
});
