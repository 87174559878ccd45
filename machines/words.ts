// Guards and effects in words, for people who do not read programs. Derived from the expressions
// and their names alone: what stands in a picture is what the database computes. `sketch.ts` calls
// it.
//
// - Names of columns and of what an event brings stand in quotes, with spaces: “next attempt at”.
// - Durations are told in units, and a name's `_ms` goes with them.
// - A condition is named by what is wrong when it is not true, so `guardInShort` turns it round:
//   `not_due` is "if due", `step_not_open` is "if step open", `no_failures_left` is "with failures
//   left", and all others are "unless …".

import { kindOf, type Names } from './kind-of.ts';
import type { Node } from './vocabulary.ts';

/** A name of a declaration as people write it. */
export const spaced = (name: string): string => name.replaceAll(/[_.]/g, ' ');
const quoted = (name: string): string => `“${spaced(name)}”`;

/** Joins as a sentence does: "a, b and c". */
export const listed = (parts: readonly string[], word: 'and' | 'or'): string =>
  parts.length < 2
    ? parts.join('')
    : `${parts.slice(0, -1).join(', ')} ${word} ${parts.at(-1) ?? ''}`;

const units = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A duration in the largest unit of which it is a whole number. */
export function durationInWords(ms: number): string {
  const unit = units.find(([, size]) => ms % size === 0 && ms !== 0);
  if (!unit) return ms === 0 ? '0 s' : `${ms} ms`;
  const count = ms / unit[1];
  return `${count} ${unit[0]}${unit[0] === 'day' && count !== 1 ? 's' : ''}`;
}

/** Keeps what has commas of its own together. */
const inBrackets = (text: string): string =>
  text.replaceAll(/\([^()]*\)/g, '').includes(', ') ? `(${text})` : text;

type Unit = 'ms' | undefined;

function literalInWords(value: unknown, unit: Unit): string {
  if (value === null) return 'nothing';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && unit === 'ms') return durationInWords(value);
  return typeof value === 'string' ? `‘${value}’` : String(value);
}

/** `least` and `greatest`: a literal among them is a bound of the others. */
function bounded(
  nodes: readonly Node[],
  bound: 'at most' | 'at least',
  { names, unit }: { readonly names: Names; readonly unit: Unit },
): string {
  const words = nodes.map((node) => valueInWords(node, names, unit));
  const [bounds, others] = [true, false].map((wanted) =>
    words.filter((_, n) => 'lit' in (nodes[n] ?? {}) === wanted),
  ) as [string[], string[]];
  const isTime = nodes.some((node) => kindOf(node, names) === 'instant');
  const end = bound === 'at most' ? ['the earlier', 'the smaller'] : ['the later', 'the larger'];
  const one =
    others.length > 1
      ? `${end[isTime ? 0 : 1]} of ${listed(others.map(inBrackets), 'and')}`
      : others.join('');
  return [one, ...bounds.map((each) => `${bound} ${each}`)].join(', ');
}

/** What an expression's value is. `ms`: it is a duration. */
export function valueInWords(node: Node, names: Names, unit?: Unit): string {
  const one = (part: Node) => valueInWords(part, names, unit);
  const name = (text: string) => quoted(unit === 'ms' ? text.replace(/_ms$/, '') : text);
  if ('col' in node) return name(node.col);
  if ('field' in node) return `the given ${name(node.field)}`;
  if ('lit' in node) return literalInWords(node.lit, unit);
  if ('clock' in node) return 'now';
  if ('actor' in node) return 'whoever sends it';
  if ('increment' in node) return `${one(node.increment)} + 1`;
  if ('after' in node) {
    const [time, wait] = node.after;
    return `${valueInWords(time, names)} + ${inBrackets(valueInWords(wait, names, 'ms'))}`;
  }
  if ('backoff' in node) {
    const { failures, baseMs, capMs } = node.backoff;
    const [half, base, cap] = [baseMs / 2, baseMs, capMs].map(durationInWords);
    const longest = `the longest doubles with each of ${valueInWords(failures, names)} up to ${cap}`;
    return `a random wait (${half} to ${base}; ${longest})`;
  }
  if ('coalesce' in node) {
    const [first, ...rest] = node.coalesce.map(one);
    return [first, ...rest.map((each) => `or ${each} without it`)].join(', ');
  }
  if ('least' in node) return bounded(node.least, 'at most', { names, unit });
  if ('greatest' in node) return bounded(node.greatest, 'at least', { names, unit });
  return conditionInWords(node, names);
}

/** An order of two values, or the opposite of it. `orEqual`: they may be the same. */
function orderInWords(
  [a, b]: readonly [Node, Node],
  { names, orEqual, holds }: { readonly names: Names; orEqual: boolean; holds: boolean },
): string {
  const [left, right] = [valueInWords(a, names), valueInWords(b, names)];
  if ('clock' in b) return holds ? `${left} has come` : `${left} has not come`;
  if ('clock' in a) return holds ? `${right} has not come` : `${right} has come`;
  const isTime = [a, b].some((node) => kindOf(node, names) === 'instant');
  if (isTime) {
    if (holds) return `${left} is ${orEqual ? 'not after' : 'before'} ${right}`;
    return `${left} is ${orEqual ? 'after' : 'not before'} ${right}`;
  }
  if (holds) return `${left} is ${orEqual ? 'at most' : 'below'} ${right}`;
  return `${left} is ${orEqual ? 'above' : 'at least'} ${right}`;
}

/** A sentence that is true when the condition is true; `holds` false: when it is false. */
export function conditionInWords(node: Node, names: Names, holds = true): string {
  const is = holds ? 'is' : 'is not';
  if ('not' in node) return conditionInWords(node.not, names, !holds);
  if ('and' in node || 'or' in node) {
    const isAnd = 'and' in node;
    const parts = (isAnd ? node.and : node.or).map((part) => {
      const text = conditionInWords(part, names, holds);
      return 'and' in part || 'or' in part ? `(${text})` : text;
    });
    return listed(parts, isAnd === holds ? 'and' : 'or');
  }
  if ('isNull' in node) {
    return `${valueInWords(node.isNull, names)} is ${holds ? 'empty' : 'filled in'}`;
  }
  if ('eq' in node || 'ne' in node) {
    const [a, b] = 'eq' in node ? node.eq : node.ne;
    const same = 'eq' in node === holds;
    return `${valueInWords(a, names)} is ${same ? '' : 'not '}${valueInWords(b, names)}`;
  }
  if ('coalesce' in node) {
    const [first, last, ...others] = node.coalesce;
    // Unknown is taken for false, which a sentence about the one value says already.
    const isPlain = last !== undefined && 'lit' in last && last.lit === false;
    if (first && isPlain && others.length === 0) return conditionInWords(first, names, holds);
  }
  if ('lt' in node) return orderInWords(node.lt, { names, orEqual: false, holds });
  if ('lte' in node) return orderInWords(node.lte, { names, orEqual: true, holds });
  if ('field' in node) return `the sender says ${holds ? '' : 'not '}${quoted(node.field)}`;
  if ('col' in node) return `${quoted(node.col)} ${is} set`;
  if ('lit' in node) return node.lit === holds ? 'always' : 'never';
  return `${valueInWords(node, names)} ${is} yes`;
}

/** What a column becomes. */
export function effectInWords(column: string, node: Node, names: Names): string {
  if ('lit' in node && node.lit === null) return `${quoted(column)} cleared`;
  if ('increment' in node && 'col' in node.increment && node.increment.col === column) {
    return `${quoted(column)} + 1`;
  }
  if ('field' in node && node.field === column) return `${quoted(column)} as given`;
  const isCondition = ['and', 'or', 'not', 'isNull', 'eq', 'ne', 'lt', 'lte'].some(
    (operator) => operator in node,
  );
  return `${quoted(column)}: ${isCondition ? 'whether ' : ''}${valueInWords(node, names)}`;
}

/** A guard by the names of its conditions, in few words. Empty where nothing is asked. */
export function guardInShort(conditions: readonly string[], isElse: boolean): string {
  const found = { if: [] as string[], with: [] as string[], unless: [] as string[] };
  for (const name of conditions) {
    if (/(^|_)not_/.test(name)) found.if.push(spaced(name.replace(/(^|_)not_/, '$1')));
    else if (name.startsWith('no_')) found.with.push(spaced(name.slice(3)));
    else found.unless.push(spaced(name));
  }
  const parts = [
    found.if.length > 0 ? `if ${listed(found.if, 'and')}` : '',
    found.with.length > 0 ? `with ${listed(found.with, 'and')}` : '',
    found.unless.length > 0 ? `unless ${listed(found.unless, 'or')}` : '',
  ].filter((part) => part !== '');
  const text = parts.join(', ');
  if (!isElse) return text;
  if (text === '') return 'otherwise';
  return text.startsWith('if ') ? `else ${text}` : `otherwise, ${text}`;
}
