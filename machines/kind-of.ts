// The kind of an expression, found from its parts. `check.ts` refuses with it what slipped past the
// types; `persistence/print.ts` casts every literal by it, so that no text in SQL is of unknown
// type.

import type { Declarations, Declared, Kind, Node } from './vocabulary.ts';

export interface Names {
  readonly columns: Declarations;
  readonly fields: Declarations;
}

export const kindOfDeclared = (declared: Declared): Kind =>
  (declared.endsWith('?') ? declared.slice(0, -1) : declared) as Kind;

export const isNullable = (declared: Declared): boolean => declared.endsWith('?');

/** A mistake in a declaration. The message names the place; nothing was compiled or installed. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
}

function literalKind(value: unknown): Kind | undefined {
  if (value === null) return undefined;
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'int';
  if (typeof value !== 'string') {
    throw new MachineError('a literal is text, a number, a bool or null');
  }
  if (value.includes('\0') || /\p{Surrogate}/u.test(value)) {
    throw new MachineError('a literal that cannot be stored');
  }
  return 'text';
}

function common(nodes: readonly Node[], names: Names, allowed?: readonly Kind[]): Kind | undefined {
  const kinds = new Set(
    nodes.map((node) => kindOf(node, names)).filter((kind) => kind !== undefined),
  );
  const [kind, other] = kinds;
  if (other !== undefined) throw new MachineError(`mixes ${[...kinds].join(' and ')}`);
  if (kind && allowed && !allowed.includes(kind)) {
    throw new MachineError(`takes ${allowed.join(' or ')}, not ${kind}`);
  }
  return kind;
}

function named(declarations: Declarations, name: string, what: string): Kind {
  const declared = Object.hasOwn(declarations, name) ? declarations[name] : undefined;
  if (declared === undefined) throw new MachineError(`there is no ${what} "${name}"`);
  return kindOfDeclared(declared);
}

const comparable: readonly Kind[] = ['int', 'text', 'bool', 'instant', 'uuid'];
const ordered: readonly Kind[] = ['int', 'instant'];

/**
 * Finds the kind of an expression; undefined for a bare null.
 * @throws MachineError for an unknown name and for operands that do not go together.
 */
export function kindOf(node: Node, names: Names): Kind | undefined {
  if (typeof node !== 'object' || node === null || Object.keys(node).length !== 1) {
    throw new MachineError('an expression is an object with one operator');
  }
  if ('col' in node) return named(names.columns, node.col, 'column');
  if ('field' in node) return named(names.fields, node.field, 'field');
  if ('lit' in node) return literalKind(node.lit);
  if ('clock' in node) return 'instant';
  if ('actor' in node) return 'text';
  if ('after' in node) {
    common([node.after[0]], names, ['instant']);
    common([node.after[1]], names, ['int']);
    return 'instant';
  }
  if ('increment' in node) return common([node.increment], names, ['int']) ?? 'int';
  if ('backoff' in node) return common([node.backoff.failures], names, ['int']) ?? 'int';
  if ('coalesce' in node) return common(node.coalesce, names);
  if ('least' in node) return common(node.least, names, ordered);
  if ('greatest' in node) return common(node.greatest, names, ordered);
  if ('eq' in node) common(node.eq, names, comparable);
  else if ('ne' in node) common(node.ne, names, comparable);
  else if ('lt' in node) common(node.lt, names, ordered);
  else if ('lte' in node) common(node.lte, names, ordered);
  else if ('isNull' in node) common([node.isNull], names);
  else if ('not' in node) common([node.not], names, ['bool']);
  else if ('and' in node) common(node.and, names, ['bool']);
  else if ('or' in node) common(node.or, names, ['bool']);
  else throw new MachineError(`there is no operator "${Object.keys(node)[0]}"`);
  return 'bool';
}

/** The expressions directly inside a node. */
export function partsOf(node: Node): readonly Node[] {
  if ('backoff' in node) return [node.backoff.failures];
  const isLeaf = ['col', 'field', 'lit', 'clock', 'actor'].some((name) => name in node);
  if (isLeaf) return [];
  return Object.values(node as Readonly<Record<string, Node | readonly Node[]>>).flat() as Node[];
}

/** A node and every node inside it. */
export const walk = (node: Node): readonly Node[] => [node, ...partsOf(node).flatMap(walk)];
