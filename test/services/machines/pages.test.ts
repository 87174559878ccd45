// docs/machines/ says what the machines are: it is what `npm run diagrams` would write now.

import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { arrowsOf } from '../../../machines/arrows.ts';
import { outbox } from '../../../machines/outbox.ts';
import { sketchOf } from '../../../machines/sketch.ts';
import { sketchOfStates } from '../../../machines/sketch-states.ts';
import type { Machine } from '../../../machines/status-machine.ts';
import { documentedSketches } from '../../../services/machines/documented.ts';
import { pagesOf } from '../../../services/machines/pages.ts';
import { parcel } from '../../machines/parcel.ts';
import { machineEntries } from '../../support/machines.ts';

const folder = new URL('../../../docs/machines/', import.meta.url);

describe('docs/machines', () => {
  it('is what the machines are; npm run diagrams writes it', async () => {
    const pages = await pagesOf(documentedSketches);
    expect((await readdir(folder)).toSorted()).toEqual(pages.map(({ name }) => name).toSorted());
    for (const { name, text } of pages) {
      expect(await readFile(new URL(name, folder), 'utf8'), name).toBe(text);
    }
  });

  it('would be stale after a change of a single guard', async () => {
    const due = JSON.stringify({ lte: [{ col: 'next_attempt_at' }, { clock: true }] });
    const changed: Machine = JSON.parse(JSON.stringify(outbox).replace(due, '{"lit":true}'));
    const [page, picture] = await pagesOf([sketchOf(outbox)]);
    const [other, same] = await pagesOf([sketchOf(changed)]);
    expect(other?.text).not.toBe(page?.text);
    // What the condition is called did not change, and only that is in the picture.
    expect(same?.text).toBe(picture?.text);
  });
});

describe.each(machineEntries.map(({ machine }) => [machine.id, machine] as const))(
  'the page of %s',
  (_, machine) => {
    it('has a row for every arrow, status, command and check', async () => {
      const [page] = await pagesOf([sketchOf(machine)]);
      const rows = (page?.text ?? '').split('\n').filter((line) => line.startsWith('| `'));
      const arrows = arrowsOf(machine).map(
        ({ from, to, event }) => `| \`${from}\` → \`${to}\` | \`${event}\``,
      );
      const found = rows.filter((row) => row.includes('` → `'));
      expect(found).toHaveLength(arrows.length);
      found.forEach((row, n) => {
        expect(row.startsWith(arrows[n] ?? 'no arrow')).toBe(true);
      });
      const others = [machine.states, machine.commands ?? {}, machine.checks ?? {}].flatMap(
        (each) => Object.keys(each).map((name) => `| \`${name}\` |`),
      );
      const rest = rows.filter((row) => !row.includes('` → `'));
      expect(rest.map((row) => /^\| `[^`]+` \|/.exec(row)?.[0])).toEqual(others);
    });
  },
);

describe('the page of a machine that is not persisted', () => {
  it('says nothing of senders, fences and the database', async () => {
    const sketch = sketchOfStates(parcel);
    const [page] = await pagesOf([sketch]);
    const lines = page?.text.split('\n').filter((line) => line.includes('` → `')) ?? [];
    const rows = lines.filter((line) => line.startsWith('| `'));
    expect(rows).toHaveLength(sketch.arrows.length);
    expect(page?.text).not.toMatch(/sent by|fence|Checks|undefined/i);
  });
});
