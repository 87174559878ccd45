// A machine as a picture needs it: nodes, arrows, and everything about them in words. Mermaid, the
// SVG, the tables of docs/machines/ and the console read nothing else of a machine.
//
// - `sketchOf` reads a persisted machine; `sketchOfStates` (sketch-states.ts) reads any other
//   XState machine into the same shape, nested and parallel states included.
// - Every arrow of the declaration is one arrow of the sketch, in the same order.
// - Leaving a leased status clears lease and owner. It is told as the end of the lease, and not at
//   all where there was none.

import { type Arrow, arrowsOf, isFinal, isLeased } from './arrows.ts';
import type { Names } from './kind-of.ts';
import type { Machine, Sender } from './status-machine.ts';
import { conditionInWords, effectInWords, guardInShort, valueInWords } from './words.ts';

export interface SketchNode {
  /** One in the sketch. A nested state's contains those of the states around it. */
  readonly id: string;
  readonly name: string;
  /** The node in which it is nested. */
  readonly parent?: string;
  readonly description?: string;
  /** Where its parent begins, or the whole. */
  readonly initial: boolean;
  readonly final: boolean;
  /** A run in it has an owner, whose lease is running. */
  readonly leased: boolean;
  /** The nodes in it are in force all at once. */
  readonly parallel: boolean;
  /** What goes on while it lasts. */
  readonly activities: readonly string[];
  /** Names of the nodes in it that another sketch has (sketch-parts.ts). */
  readonly within?: readonly string[];
}

interface SketchCondition {
  /** What is wrong when it is not true; the code of a refusal. */
  readonly name: string;
  /** What is asked for, as a sentence. Empty where nothing is known but the name. */
  readonly words: string;
}

export interface SketchArrow {
  /** One in the sketch: source, event and how many came before of the same two. */
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** The name of the node it leads to, where the sketch does not have that one. */
  readonly toward?: string;
  readonly event: string;
  /** Who may send it. Not there for a machine that does not say. */
  readonly by?: Sender;
  readonly description?: string;
  /** All of them must be true. */
  readonly guard: readonly SketchCondition[];
  /** It is taken only if no arrow before it, of the same source and event, can be. */
  readonly isElse: boolean;
  /** The guard in few words; empty where nothing is asked. */
  readonly short: string;
  readonly effect: readonly string[];
  /** Whether the sender's fence is judged, or a new one given. */
  readonly fence: 'none' | 'judged' | 'raised';
}

interface SketchCommand {
  readonly name: string;
  readonly from: readonly string[];
  readonly description: string;
}

export interface Sketch {
  readonly id: string;
  readonly description: string;
  /** Where its runs are, if it is persisted. */
  readonly table?: string;
  readonly nodes: readonly SketchNode[];
  readonly arrows: readonly SketchArrow[];
  /** Conditions that the database holds true at every write. */
  readonly checks: readonly SketchCondition[];
  readonly commands: readonly SketchCommand[];
}

const senders: Readonly<Record<Sender, { readonly short: string; readonly words: string }>> = {
  claim: { short: 'free worker', words: 'any free worker, which then owns the run' },
  owner: { short: 'its worker', words: 'the worker that owns the run, and no other' },
  operator: { short: 'person', words: 'a person, or a service with the right to' },
  sweep: { short: 'clock', words: 'the clock: sent when the time has come' },
};

/** Who may send an event, in one or two words and in a phrase. */
export const senderInWords = (by: Sender) => senders[by];

const fences: Readonly<Record<SketchArrow['fence'], string>> = {
  none: 'not asked for',
  judged: "it must be the sender's, so a former owner is refused",
  raised: 'it goes up by one, which shuts out every former owner',
};

export const fenceInWords = (fence: SketchArrow['fence']): string => fences[fence];

function effectOf(machine: Machine, arrow: Arrow, names: Names): readonly string[] {
  const leaves = isLeased(machine, arrow.from) && !isLeased(machine, arrow.to);
  const own = Object.entries(arrow.set).filter(
    ([column]) => isLeased(machine, arrow.to) || ![machine.lease, machine.owner].includes(column),
  );
  const words = own.map(([column, node]) => {
    if (column === machine.lease) return `the lease runs until ${valueInWords(node, names)}`;
    if (column === machine.owner) return `the owner is ${valueInWords(node, names)}`;
    const text = effectInWords(column, node, names);
    return column === machine.fence ? `${text} (the fence)` : text;
  });
  return leaves ? [...words, 'the lease ends'] : words;
}

function arrowIn(machine: Machine, arrow: Arrow, before: number): SketchArrow {
  const { by, fields = {} } = machine.events[arrow.event] ?? { by: 'operator' };
  const names = { columns: machine.columns, fields };
  const conditions = Object.entries(arrow.guard);
  return {
    id: `${arrow.from}/${arrow.event}/${before}`,
    from: arrow.from,
    to: arrow.to,
    event: arrow.event,
    by,
    ...(arrow.description !== undefined && { description: arrow.description }),
    guard: conditions.map(([name, node]) => ({ name, words: conditionInWords(node, names) })),
    isElse: before > 0,
    short: guardInShort(Object.keys(arrow.guard), before > 0),
    effect: effectOf(machine, arrow, names),
    fence: by === 'claim' ? 'raised' : by === 'owner' ? 'judged' : 'none',
  };
}

/** Reads a persisted machine. */
export function sketchOf(machine: Machine): Sketch {
  const arrows = arrowsOf(machine);
  const names = { columns: machine.columns, fields: {} };
  return {
    id: machine.id,
    description: machine.description,
    table: machine.table,
    nodes: Object.entries(machine.states).map(([name, state]) => ({
      id: name,
      name,
      ...(state.description !== undefined && { description: state.description }),
      initial: name === machine.initial,
      final: isFinal(machine, name),
      leased: isLeased(machine, name),
      parallel: false,
      activities: [],
    })),
    arrows: arrows.map((arrow, n) => {
      const same = ({ from, event }: Arrow) => from === arrow.from && event === arrow.event;
      return arrowIn(machine, arrow, arrows.slice(0, n).filter(same).length);
    }),
    checks: Object.entries(machine.checks ?? {}).map(([name, node]) => ({
      name,
      words: conditionInWords(node, names),
    })),
    commands: Object.entries(machine.commands ?? {}).map(([name, command]) => ({
      name,
      ...command,
    })),
  };
}
