// What there is to know about machines, and how many runs they have.

import { describe, expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { proposal } from '../../../machines/proposal.ts';
import type { Machine } from '../../../machines/status-machine.ts';
import { catalogueOf, countRuns } from '../../../services/machines/catalogue.ts';
import { enqueue } from '../../support/deliveries.ts';
import { machineEntries } from '../../support/machines.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const machines: readonly Machine[] = machineEntries.map(({ machine }) => machine);

describe('the catalogue', () => {
  it('lists the machines, and finds one', () => {
    const catalogue = catalogueOf(machines);
    expect(catalogue.list().map(({ id }) => id)).toEqual(machines.map(({ id }) => id));
    expect(catalogue.list()[0]).toEqual({
      id: 'outbox',
      description: 'A notification on its way to one recipient.',
      statuses: ['pending', 'processing', 'sent', 'failed', 'dead'],
      initial: 'pending',
    });
    expect(catalogue.find('outbox')).toBe(outbox);
    expect(catalogue.find('toString')).toBeUndefined();
  });

  it('describes a machine once, however many ask', async () => {
    const catalogue = catalogueOf(machines);
    const [first, second] = await Promise.all([
      catalogue.describe(outbox),
      catalogue.describe(outbox),
    ]);
    expect(first).toBe(second);
  });

  it.each(machines.map((machine) => [machine.id, machine] as const))(
    'describes %s: as data, in pictures, and as a statement for each event',
    async (_, machine) => {
      const details = await catalogueOf(machines).describe(machine);
      expect(JSON.parse(JSON.stringify(details.definition))).toEqual(machine);
      expect(details.svg).toMatch(/^<svg /);
      expect(details.mermaid).toMatch(/^stateDiagram-v2\n/);
      expect([...new Set(details.statements.map(({ event }) => event))]).toEqual(
        Object.keys(machine.events),
      );
      for (const { event, selector, sql } of details.statements) {
        expect(sql).toMatch(/^with /i);
        const by = machine.events[event]?.by;
        const allowed = by === 'claim' ? ['claim'] : by === 'sweep' ? ['sweep', 'heal'] : ['ids'];
        expect(allowed).toContain(selector);
      }
    },
  );

  it('says what a person may send, and from where', async () => {
    const { operatorEvents } = await catalogueOf(machines).describe(proposal);
    expect(operatorEvents).toEqual([
      { event: 'approve', fields: { plan_hash: 'text' }, from: ['pending'] },
      { event: 'reject', fields: { reason: 'text?' }, from: ['pending', 'approved'] },
    ]);
  });
});

describe('countRuns', () => {
  it('says where it stopped counting', async () => {
    await enqueue(database(), 12);
    const shown = async (most?: number) =>
      (await countRuns(database(), outbox, most)).map((count) => [count.status, count.shown]);
    expect((await shown())[0]).toEqual(['pending', '12']);
    expect((await shown(11))[0]).toEqual(['pending', '11+']);
    expect(await countRuns(database(), outbox, 11)).toContainEqual({
      status: 'pending',
      runs: 11,
      more: true,
      shown: '11+',
    });
    expect((await shown()).slice(1)).toEqual([
      ['processing', '0'],
      ['sent', '0'],
      ['failed', '0'],
      ['dead', '0'],
    ]);
  });

  it('writes a large count as people do', async () => {
    await enqueue(database(), 1200);
    const [pending] = await countRuns(database(), outbox, 1000);
    expect(pending?.shown).toBe('1,000+');
  });
});
