// What there is to know about the machines of this process: for the HTTP API and the console.
//
// - A machine is told as data, as a picture, in words and as the SQL that moves its runs. All of it
//   follows from the declaration, so it is worked out once.
// - It knows no domain: what is true of one machine is true of all.

import { mermaidOf } from '../../machines/mermaid.ts';
import { type Sketch, sketchOf } from '../../machines/sketch.ts';
import type { Machine, Sender } from '../../machines/status-machine.ts';
import type { Declarations } from '../../machines/vocabulary.ts';
import type { Selector } from '../../persistence/compile.ts';
import { countByStatus } from '../../persistence/counts.ts';
import type { Database } from '../../persistence/database.ts';
import { statementOf } from '../../persistence/statements.ts';
import { svgOf } from './svg.ts';

export interface MachineSummary {
  readonly id: string;
  readonly description: string;
  readonly statuses: readonly string[];
  readonly initial: string;
}

interface EventStatement {
  readonly event: string;
  readonly selector: Selector;
  /** The name under which a connection prepares it. */
  readonly name: string;
  readonly sql: string;
}

interface OperatorEvent {
  readonly event: string;
  readonly fields: Declarations;
  /** The statuses in which it may be sent, if its conditions are true. */
  readonly from: readonly string[];
}

export interface MachineDetails extends MachineSummary {
  readonly definition: Machine;
  readonly sketch: Sketch;
  readonly mermaid: string;
  readonly svg: string;
  readonly statements: readonly EventStatement[];
  /** What a person may send. */
  readonly operatorEvents: readonly OperatorEvent[];
}

export interface StatusCount {
  readonly status: string;
  /** At most 10,000. */
  readonly runs: number;
  /** There are more than are counted. */
  readonly more: boolean;
  /** For people: `17`, or `10,000+`. */
  readonly shown: string;
}

const mostCounted = 10_000;

const selectors: Readonly<Record<Sender, readonly Selector[]>> = {
  claim: ['claim'],
  owner: ['ids'],
  operator: ['ids'],
  sweep: ['sweep', 'heal'],
};

const summaryOf = ({ id, description, states, initial }: Machine): MachineSummary => ({
  id,
  description,
  statuses: Object.keys(states),
  initial,
});

function statementsOf(machine: Machine): readonly EventStatement[] {
  return Object.entries(machine.events).flatMap(([event, { by }]) =>
    selectors[by].map((selector) => {
      const { name, text } = statementOf(machine, event, { selector });
      return { event, selector, name, sql: text };
    }),
  );
}

function operatorEventsOf(machine: Machine, { arrows }: Sketch): readonly OperatorEvent[] {
  return Object.entries(machine.events)
    .filter(([, { by }]) => by === 'operator')
    .map(([event, { fields = {} }]) => {
      const from = arrows.filter((arrow) => arrow.event === event).map((arrow) => arrow.from);
      return { event, fields, from: [...new Set(from)] };
    });
}

async function detailsOf(machine: Machine): Promise<MachineDetails> {
  const sketch = sketchOf(machine);
  return {
    ...summaryOf(machine),
    definition: machine,
    sketch,
    mermaid: mermaidOf(sketch),
    svg: await svgOf(sketch),
    statements: statementsOf(machine),
    operatorEvents: operatorEventsOf(machine, sketch),
  };
}

const thousands = new Intl.NumberFormat('en-US');

/** Counts the runs in each status, in the order of the declaration. */
export async function countRuns(
  database: Database,
  machine: Machine,
  most = mostCounted,
): Promise<readonly StatusCount[]> {
  const counts = await countByStatus(database.db, machine, most);
  return Object.keys(machine.states).map((status) => {
    const found = counts.get(status) ?? 0;
    const runs = Math.min(found, most);
    const more = found > most;
    return { status, runs, more, shown: `${thousands.format(runs)}${more ? '+' : ''}` };
  });
}

export interface Catalogue {
  list(): readonly MachineSummary[];
  /** The machine of an id, or undefined. */
  find(id: string): Machine | undefined;
  /** Everything about a machine. Drawn at the first question, and kept. */
  describe(machine: Machine): Promise<MachineDetails>;
}

/** Makes the catalogue of a process's machines. */
export function catalogueOf(machines: readonly Machine[]): Catalogue {
  const described = new Map<Machine, Promise<MachineDetails>>();
  return {
    list: () => machines.map(summaryOf),
    find: (id) => machines.find((machine) => machine.id === id),
    describe(machine) {
      const details = described.get(machine) ?? detailsOf(machine);
      described.set(machine, details);
      return details;
    },
  };
}
