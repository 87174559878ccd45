// A sketch says everything that its machine declares, once and in its order.

import { describe, expect, it } from 'vitest';
import { arrowsOf, isFinal, isLeased } from '../../machines/arrows.ts';
import { dbops } from '../../machines/dbops.ts';
import { outbox } from '../../machines/outbox.ts';
import { proposal } from '../../machines/proposal.ts';
import { sketchOf } from '../../machines/sketch.ts';
import { machineEntries } from '../support/machines.ts';

const arrowOf = (sketch: ReturnType<typeof sketchOf>, id: string) =>
  sketch.arrows.find((arrow) => arrow.id === id);

describe.each(machineEntries.map(({ machine }) => [machine.id, machine] as const))(
  'the sketch of %s',
  (_, machine) => {
    const sketch = sketchOf(machine);

    it('has every arrow once, in the order of the declaration', () => {
      const declared = arrowsOf(machine).map(({ from, event, to }) => [from, event, to]);
      expect(sketch.arrows.map(({ from, event, to }) => [from, event, to])).toEqual(declared);
      expect(new Set(sketch.arrows.map(({ id }) => id)).size).toBe(declared.length);
    });

    it('has every status once, with what it is', () => {
      expect(
        sketch.nodes.map(({ id, initial, final, leased }) => [id, initial, final, leased]),
      ).toEqual(
        Object.keys(machine.states).map((status) => [
          status,
          status === machine.initial,
          isFinal(machine, status),
          isLeased(machine, status),
        ]),
      );
    });

    it('says every condition, and what every column becomes', () => {
      arrowsOf(machine).forEach((arrow, n) => {
        const sketched = sketch.arrows[n];
        expect(sketched?.guard.map(({ name }) => name)).toEqual(Object.keys(arrow.guard));
        const told = sketched?.effect.join('\n') ?? '';
        for (const column of Object.keys(arrow.set)) {
          if ([machine.lease, machine.owner].includes(column)) continue;
          expect(told).toContain(`“${column.replaceAll('_', ' ')}”`);
        }
      });
    });

    it('is in words: no name of code, and nothing that could not be told', () => {
      const texts = sketch.arrows.flatMap(({ short, effect, guard }) => [
        ...[short, ...effect],
        ...guard.map(({ words }) => words),
      ]);
      expect(texts.length).toBeGreaterThan(20);
      // A text of the machine's own is told as it is.
      const own = texts.map((text) => text.replaceAll(/‘[^’]*’/g, ''));
      expect(own.filter((text) => /_|undefined|\[object/.test(text))).toEqual([]);
    });

    it('judges the fence for owners, raises it for claims, and asks nobody else for it', () => {
      for (const { event, fence } of sketch.arrows) {
        const by = machine.events[event]?.by;
        expect(fence).toBe(by === 'owner' ? 'judged' : by === 'claim' ? 'raised' : 'none');
      }
    });

    it('ends a lease exactly where an arrow leaves a leased status', () => {
      for (const { from, to, effect } of sketch.arrows) {
        const leaves = isLeased(machine, from) && !isLeased(machine, to);
        expect(effect.includes('the lease ends')).toBe(leaves);
      }
    });
  },
);

describe('a sketch', () => {
  it('tells a claim', () => {
    expect(arrowOf(sketchOf(outbox), 'pending/claim/0')).toEqual({
      id: 'pending/claim/0',
      from: 'pending',
      to: 'processing',
      event: 'claim',
      by: 'claim',
      description: 'A worker takes it.',
      guard: [{ name: 'not_due', words: '“next attempt at” has come' }],
      isElse: false,
      short: 'if due',
      effect: [
        '“attempts” + 1 (the fence)',
        'the lease runs until now + the given “lease”',
        'the owner is the given “owner”',
      ],
      fence: 'raised',
    });
  });

  it('tells the first of several arrows from the others', () => {
    const fails = sketchOf(outbox).arrows.filter(({ event }) => event === 'fail');
    expect(fails.map(({ to, short }) => [to, short])).toEqual([
      ['pending', 'if retryable, with failures left, unless given up'],
      ['dead', 'else if retryable'],
      ['failed', 'otherwise'],
    ]);
  });

  it('does not speak of a lease where there was none', () => {
    const cancel = arrowOf(sketchOf(dbops), 'queued/cancel/0');
    expect(cancel?.effect).toEqual(['“finished at”: now']);
  });

  it('has the checks and the commands', () => {
    const { checks, commands } = sketchOf(proposal);
    expect(checks).toEqual([
      {
        name: 'four_eyes',
        words:
          '(“four eyes” is ‘never’ or (“four eyes” is ‘high-risk’ and ' +
          '(“risk” is ‘low’ or “risk” is ‘medium’))), ' +
          '“approved by” is empty or “approved by” is not “proposer”',
      },
    ]);
    expect(commands.map(({ name, from }) => [name, from])).toEqual([
      ['continue', ['failed']],
      ['compensate', ['failed', 'executed']],
    ]);
  });
});
