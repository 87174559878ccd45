// Reads any XState machine into a sketch, so that one that is not persisted, such as the session of
// a document in the browser, is drawn by the same hands.
//
// - Nested and parallel states, `after`, `always`, `invoke` and what stays in its state are all in
//   it. The machine itself is a node only where it has arrows of its own, or is parallel.
// - Code cannot be put into words: what is known of a guard or an action is its name. A function
//   without one is "a condition" or "an action".
// - It says nothing of senders and fences, which only a persisted machine has.

import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import type { Sketch, SketchArrow, SketchNode } from './sketch.ts';
import { durationInWords, listed } from './words.ts';

/** A name of code as people write it: `attemptsLeft` is "attempts left". */
const spoken = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_.]/g, ' ')
    .toLowerCase();

const builtIn: Readonly<Record<string, string>> = {
  'xstate.assign': 'its data change',
  'xstate.raise': 'it sends itself an event',
  'xstate.sendTo': 'another actor is told',
  'xstate.emit': 'its listeners are told',
  'xstate.spawnChild': 'another actor starts',
  'xstate.stopChild': 'another actor stops',
  'xstate.cancel': 'a delayed event is taken back',
  'xstate.log': 'it is logged',
  'xstate.enqueueActions': 'it does what depends on its data',
};

/** The names of the states that a `stateIn` asks for. */
const leavesOf = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(leavesOf)
    : [String(value)];

/** The name of a guard or an action: its own, its type's, or that of its function. */
function nameOf(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  if (typeof part !== 'object' && typeof part !== 'function') return undefined;
  const { type, name } = part as { readonly type?: unknown; readonly name?: unknown };
  if (typeof type === 'string') return type;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function actionInWords(action: unknown): string {
  const name = nameOf(action);
  if (name === undefined) return 'an action';
  return builtIn[name] ?? spoken(name);
}

/** Not one that XState puts there itself, to start and to stop the clock of an `after`. */
function isWritten(action: unknown): boolean {
  const { event, sendId } = action as {
    readonly event?: { readonly type?: unknown };
    sendId?: unknown;
  };
  return ![event?.type, sendId].some((id) => String(id).startsWith('xstate.after.'));
}

/** XState's `and`, `or` and `not` carry the guards inside them; `stateIn` has a state. */
function guardNames(guard: unknown): readonly string[] {
  if (guard === undefined) return [];
  const { guards, stateValue } = guard as {
    readonly guards?: readonly unknown[];
    readonly stateValue?: unknown;
  };
  if (stateValue !== undefined) return [`in ${listed(leavesOf(stateValue), 'and')}`];
  if (!guards) return [spoken(nameOf(guard) ?? 'a condition').replace(/^is /, '')];
  const names = guards.flatMap(guardNames);
  if (nameOf(guard) === 'or') return [listed(names, 'or')];
  if (nameOf(guard) !== 'not') return names;
  const text = listed(names, 'and');
  return [/ (and|or) /.test(text) ? `not (${text})` : `not ${text}`];
}

/** A delay of a number is told in units; one that is worked out has a name alone. */
function delayInWords(node: AnyStateNode, delay: string): string {
  const ms: unknown = node.machine.implementations.delays[delay] ?? Number(delay);
  if (typeof ms === 'number' && Number.isFinite(ms)) return `after ${durationInWords(ms)}`;
  return `after a wait (${spoken(delay)})`;
}

function eventInWords(node: AnyStateNode, event: string): string {
  if (event === '') return 'at once';
  if (event === '*') return 'any other event';
  if (event.startsWith('xstate.after.')) {
    return delayInWords(node, event.slice('xstate.after.'.length, -`.${node.id}`.length));
  }
  const [, what, id] =
    /^xstate\.(done\.actor|error\.actor|snapshot|done\.state)\.(.*)$/.exec(event) ?? [];
  if (what === undefined) return event;
  if (what === 'done.state') return 'done';
  const invoked = node.invoke.find((each) => each.id === id);
  const source = spoken(nameOf(invoked?.src) ?? 'work');
  return `${source} ${{ 'done.actor': 'done', 'error.actor': 'failed', snapshot: 'reports' }[what]}`;
}

/** By where it is, whatever id it was given: that is for targets. */
const idOf = ({ machine, path }: AnyStateNode): string => [machine.id, ...path].join('.');

const transitionsOf = (node: AnyStateNode): readonly AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
];

const hasOwnNode = (machine: AnyStateMachine): boolean =>
  machine.root.type === 'parallel' || transitionsOf(machine.root).length > 0;

function arrowsFrom(node: AnyStateNode): readonly SketchArrow[] {
  const counted = new Map<string, number>();
  return transitionsOf(node).flatMap((transition) => {
    const { eventType, guard, description } = transition;
    const before = counted.get(eventType) ?? 0;
    counted.set(eventType, before + 1);
    const names = guardNames(guard);
    const condition = `${before > 0 ? 'else if' : 'if'} ${listed(names, 'and')}`;
    const targets = transition.target ?? [node];
    return targets.map(
      (target, n): SketchArrow => ({
        id: [idOf(node), eventType, before, ...(n > 0 ? [n] : [])].join('/'),
        from: idOf(node),
        to: idOf(target),
        event: eventInWords(node, eventType),
        ...(description !== undefined && { description }),
        guard: names.map((name) => ({ name, words: '' })),
        isElse: before > 0,
        short: names.length > 0 ? condition : before > 0 ? 'otherwise' : '',
        effect: transition.actions.map(actionInWords),
        fence: 'none',
      }),
    );
  });
}

function nodeOf(machine: AnyStateMachine, node: AnyStateNode): SketchNode {
  const { parent } = node;
  const drawn = parent !== undefined && (parent !== machine.root || hasOwnNode(machine));
  const starts = parent?.type === 'compound' ? parent.initial.target : [];
  return {
    id: idOf(node),
    name: node.key,
    ...(drawn && { parent: idOf(parent) }),
    ...(node.description !== undefined && { description: node.description }),
    initial: starts.includes(node),
    final: node.type === 'final',
    leased: false,
    parallel: node.type === 'parallel',
    activities: [
      ...node.invoke.map(({ src }) => `meanwhile: ${spoken(nameOf(src) ?? 'work')}`),
      ...node.entry.filter(isWritten).map((action) => `first: ${actionInWords(action)}`),
      ...node.exit.filter(isWritten).map((action) => `last: ${actionInWords(action)}`),
    ],
  };
}

const below = (node: AnyStateNode): readonly AnyStateNode[] =>
  Object.values(node.states).flatMap((child) => [child, ...below(child)]);

/** Reads an XState machine. */
export function sketchOfStates(machine: AnyStateMachine): Sketch {
  const nodes = [...(hasOwnNode(machine) ? [machine.root] : []), ...below(machine.root)];
  return {
    id: machine.id,
    description: machine.root.description ?? '',
    nodes: nodes.map((node) => nodeOf(machine, node)),
    arrows: nodes.flatMap(arrowsFrom),
    checks: [],
    commands: [],
  };
}
