// The machine of docs/add-a-machine.md, taken out of the page and loaded: what a reader copies
// works.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { arrowsOf } from '../../machines/arrows.ts';
import { checkMachine } from '../../machines/check.ts';
import { isNullable, kindOfDeclared } from '../../machines/kind-of.ts';
import { type Machine, statusMachine } from '../../machines/status-machine.ts';
import * as vocabulary from '../../machines/vocabulary.ts';
import { sqlTypes } from '../../persistence/print.ts';
import { declaredArrows } from '../support/declared.ts';
import { type MachineEntry, moments } from '../support/machines.ts';
import { arrowsTaken, reachable } from '../support/reachable.ts';

const page = readFileSync(new URL('../../docs/add-a-machine.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);
const [declaration = '', migration = '', births = ''] = blocks;

/** The declaration uses no types, so without its imports it is the body of a function. */
function declared(): Machine {
  const body = declaration.replaceAll(/^import .*$/gm, '').replace('export const', 'const');
  const names = { statusMachine, ...vocabulary };
  const make = new Function(...Object.keys(names), `${body}; return exportRequest;`);
  return make(...Object.values(names));
}

/** What the page says of the machine for the generated suites. */
function listed(machine: Machine): MachineEntry {
  const body = births.replaceAll(/: (Values|MachineEntry) =/g, ' =');
  return new Function('exportRequest', 'early', `${body}; return entry;`)(machine, moments.early);
}

describe('docs/add-a-machine.md', () => {
  it('declares a machine without a mistake', () => {
    const machine = checkMachine(declared());
    expect(machine.id).toBe('export');
    expect(arrowsOf(machine)).toHaveLength(8);
  });

  it('lists it for the generated suites so that they reach every arrow', () => {
    const machine = declared();
    const places = reachable(listed(machine));
    expect(arrowsTaken(machine, places)).toEqual(declaredArrows(machine));
  });

  it('has no line that the house style refuses', () => {
    const lines = blocks.join('').split('\n');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  it('imports what it uses, from where it is', () => {
    const imported = /import \{(.*)\} from '\.\/vocabulary\.ts'/.exec(declaration)?.[1] ?? '';
    const used = Object.keys(vocabulary).filter((name) =>
      new RegExp(`(?<!['.\\w])${name}\\b(?!:)`).test(
        declaration.replaceAll(/^(import|\/\/).*$/gm, ''),
      ),
    );
    expect(imported.split(',').map((name) => name.trim())).toEqual(used.toSorted());
  });

  it('makes a table with the columns of the machine', () => {
    const { columns } = declared();
    for (const [name, declaration] of Object.entries(columns)) {
      const type = sqlTypes[kindOfDeclared(declaration)];
      const line = migration.split('\n').find((each) => each.startsWith(`  ${name} ${type}`));
      expect(line?.includes('not null'), name).toBe(!isNullable(declaration));
    }
  });

  it('guards the table as the machine says', () => {
    const { id, table, initial, fence, lease, owner, frozen } = declared();
    for (const [key, value] of Object.entries({
      machine: id,
      table,
      initial,
      fence,
      lease,
      owner,
    })) {
      expect(migration).toContain(`${key}: '${value}'`);
    }
    expect(migration).toContain(`frozen: [${frozen.map((name) => `'${name}'`).join(', ')}]`);
  });
});
