// The glossary is where a reader looks a word up: sorted, each word once, and none of the house's
// own missing.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const text = readFileSync(new URL('../../docs/glossary.md', import.meta.url), 'utf8');
const words = [...text.matchAll(/^- \*\*(.+?)\*\* — .+\.$/gm)].map(([, word = '']) => word);

const needed = [
  ...['machine', 'run', 'status', 'event', 'edge', 'guard', 'fence', 'lease', 'claim', 'reaper'],
  ...['receipt', 'outcome', 'applied', 'missing', 'lost', 'refused', 'invalid', 'journal', 'sweep'],
  ...['snapshot', 'base', 'draft', 'writer', 'session', 'selector', 'branch', 'birth', 'renewal'],
  ...['quarantine', 'definition', 'image', 'moment'],
];

describe('docs/glossary.md', () => {
  it('defines a word in every line of its list', () => {
    expect(text.match(/^- /gm)).toHaveLength(words.length);
  });

  it('is sorted, and has each word once', () => {
    expect(words).toEqual([...new Set(words)].toSorted());
  });

  it('defines every word of the house', () => {
    expect(needed.filter((word) => !words.includes(word))).toEqual([]);
    expect(needed).toHaveLength(32);
  });
});
