// The vocabulary in SQL: the text of an expression, over whatever names the caller gives for
// columns, fields and clock. `compile.ts` prints guards and effects with it, `guards.ts` row
// checks.
//
// - Texts hold no values from outside: names and literals come from a checked declaration.
// - Every literal is cast, so that Postgres never has to guess a type.

import { kindOf, kindOfDeclared, type Names } from '../machines/kind-of.ts';
import type { Declarations, Kind, Node } from '../machines/vocabulary.ts';

export const sqlTypes: Readonly<Record<Kind, string>> = {
  int: 'int4',
  text: 'text',
  bool: 'bool',
  instant: 'timestamptz',
  uuid: 'uuid',
  json: 'jsonb',
};

/** Quotes an identifier. Source: PostgreSQL manual, 4.1.1 Identifiers and Key Words. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Quotes a text constant; correct while standard_conforming_strings is on, as it is by default. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The one schema that Fencepost lives in. No statement relies on search_path. */
export const schemaName = 'fencepost';
export const qualified = (name: string): string => `${identifier(schemaName)}.${identifier(name)}`;

/** How columns, fields, clock, actor and dice are written where the expression stands. */
export interface Places {
  readonly names: Names;
  readonly col: (name: string) => string;
  readonly field: (name: string) => string;
  readonly clock: string;
  readonly actor: string;
  readonly dice: string;
}

const infix = { eq: '=', ne: '<>', lt: '<', lte: '<=' } as const;

function printLiteral(value: unknown, kind: Kind | undefined): string {
  if (value === null) return kind ? `null::${sqlTypes[kind]}` : 'null';
  if (typeof value === 'string') return `${literal(value)}::${sqlTypes[kind ?? 'text']}`;
  return `${String(value)}::${sqlTypes[kind ?? 'int']}`;
}

function printBackoff(failures: string, baseMs: number, capMs: number, dice: string): string {
  const half = `${baseMs / 2}::float8`;
  const grown = `${baseMs}::float8 * power(2::float8, least(greatest(${failures}, 0), 30))`;
  const most = `least(${capMs}::float8, ${grown})`;
  // greatest() ignores nulls, so unknown failures would wait like none: null in, null out.
  return `case when ${failures} is not null then floor(${half} + ${dice} * (${most} - ${half}))::int4 end`;
}

/** Prints an expression; `wanted` types the literals that stand alone. */
export function print(node: Node, places: Places, wanted?: Kind): string {
  const kind = kindOf(node, places.names) ?? wanted;
  const one = (part: Node, as = kind) => print(part, places, as);
  const list = (parts: readonly Node[]) => parts.map((part) => one(part)).join(', ');
  const pair = ([a, b]: readonly [Node, Node]) => {
    const operands = kindOf(a, places.names) ?? kindOf(b, places.names);
    return [print(a, places, operands), print(b, places, operands)];
  };
  if ('col' in node) return places.col(node.col);
  if ('field' in node) return places.field(node.field);
  if ('lit' in node) return printLiteral(node.lit, kind);
  if ('clock' in node) return places.clock;
  if ('actor' in node) return places.actor;
  if ('after' in node) {
    const ms = one(node.after[1], 'int');
    return `(${one(node.after[0], 'instant')} + ${ms} * interval '1 millisecond')`;
  }
  if ('increment' in node) {
    // Not least(…) + 1: least() ignores nulls, and an unknown count would become the largest.
    const count = one(node.increment, 'int');
    return `(case when ${count} < 2147483647 then ${count} + 1 else ${count} end)`;
  }
  if ('backoff' in node) {
    const { failures, baseMs, capMs } = node.backoff;
    return `(${printBackoff(one(failures, 'int'), baseMs, capMs, places.dice)})`;
  }
  if ('coalesce' in node) return `coalesce(${list(node.coalesce)})`;
  if ('least' in node) return `least(${list(node.least)})`;
  if ('greatest' in node) return `greatest(${list(node.greatest)})`;
  if ('isNull' in node) return `(${one(node.isNull)} is null)`;
  if ('not' in node) return `(not ${one(node.not, 'bool')})`;
  if ('and' in node) return `(${node.and.map((part) => one(part, 'bool')).join(' and ')})`;
  if ('or' in node) return `(${node.or.map((part) => one(part, 'bool')).join(' or ')})`;
  const [operator] = Object.keys(node) as [keyof typeof infix];
  const [a, b] = pair((node as Record<keyof typeof infix, readonly [Node, Node]>)[operator]);
  return `(${a} ${infix[operator]} ${b})`;
}

/** Prints a guard: all of its conditions. An empty guard is always true. */
export const printAll = (conditions: Readonly<Record<string, Node>>, places: Places): string =>
  Object.values(conditions)
    .map((condition) => print(condition, places, 'bool'))
    .join(' and ') || 'true';

export const arrayTypeOf = (declarations: Declarations, name: string): string =>
  // json travels as text and is cast: node-postgres would write an array of objects as one of text.
  `${sqlTypes[kindOfDeclared(declarations[name] ?? 'text')].replace('jsonb', 'text')}[]`;
