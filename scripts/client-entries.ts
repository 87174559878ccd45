// The entries of the browser's packages: what package.json exports, and what is built. The
// machine's descriptions are for its diagram, and are left out of what a page loads.

export const clientEntries = {
  client: 'client/index.ts',
  words: 'client/words.ts',
  testing: 'client/testing/index.ts',
  'kinds/record': 'kinds/record.ts',
  'kinds/spreadsheet': 'kinds/spreadsheet.ts',
} as const;

const text = /'[^']*'/.source;
const description = new RegExp(
  `\\bdescription:\\s*${text}(?:\\s*\\+\\s*${text})*(?:,|(?=\\s*}))`,
  'g',
);

/** A plugin for Vite. What it takes out leaves its room, so that source maps stay right. */
export const withoutDescriptions = {
  name: 'without-descriptions',
  enforce: 'pre',
  transform: (code: string, id: string) =>
    /machines\/(document-)?session/.test(id)
      ? { code: code.replaceAll(description, (text) => text.replaceAll(/[^\n]/g, ' ')), map: null }
      : null,
} as const;
