// The figures of docs/scale.md are measured ones: they stand in bench/results.md.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('says of what one Postgres takes only what was measured', () => {
  const [, section = ''] = read('docs/scale.md').split(/^## /m);
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const figures = rows.flatMap((row) => row.split('|')[2]?.match(/[\d,]+/g) ?? []);
  expect(figures).toHaveLength(6);
  const measured = new Set(read('bench/results.md').match(/\d+(?:,\d{3})*/g));
  expect(figures.filter((figure) => !measured.has(figure))).toEqual([]);
});
