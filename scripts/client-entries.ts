// The entries of the browser's packages: what package.json exports, and what is built.

export const clientEntries = {
  client: 'client/index.ts',
  testing: 'client/testing/index.ts',
  'kinds/record': 'kinds/record.ts',
  'kinds/spreadsheet': 'kinds/spreadsheet.ts',
} as const;
