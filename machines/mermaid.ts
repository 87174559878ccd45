// A sketch as Mermaid text: what a review shows without any tool. docs/machines/ has it, and the
// HTTP API.
//
// - Mermaid accepts nonsense without a word (`a --> b: x; y` makes two more states), so what people
//   wrote is escaped, and a test reads the relations back.
// - Arrows between the same two nodes share a line, with their names alone, and what stays in a
//   node is written in it: Mermaid 11 draws one of several loops, and lays labels on each other.
//   The table has the rest.
// - States have names of ours (s0, s1, …): `end`, `state` and `note` are words of Mermaid.

import { type Sketch, type SketchArrow, type SketchNode, senderInWords } from './sketch.ts';

/** Everything that Mermaid might read as more than text, as a character code. */
const escaped = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N} .,()·+-]/gu, (character) => `#${character.codePointAt(0)};`);

function labelOf({ event, by, short }: SketchArrow): string {
  const sender = by === undefined ? '' : ` (${senderInWords(by).short})`;
  return `${event}${sender}${short === '' ? '' : `, ${short}`}`;
}

/** Mermaid has no room for words in a node that has others in it. */
const isNested = (nodes: readonly SketchNode[], id: string): boolean =>
  nodes.some(({ parent }) => parent === id);

/** What stays in a node, a line each. */
export const staysOf = ({ nodes, arrows }: Sketch, id: string): readonly string[] =>
  isNested(nodes, id)
    ? []
    : arrows
        .filter(({ from, to }) => from === id && to === id)
        .map((arrow) => `stays by ${labelOf(arrow)}`);

interface Relation {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** What leads from one node to another, in the order of the sketch: the lines of the text. */
export function relationsOf({ nodes, arrows }: Sketch): readonly Relation[] {
  const pairs = new Map<string, SketchArrow[]>();
  for (const arrow of arrows) {
    const key = JSON.stringify([arrow.from, arrow.to]);
    pairs.set(key, [...(pairs.get(key) ?? []), arrow]);
  }
  return [...pairs.values()].flatMap((together) => {
    const [first, ...others] = together;
    if (!first || (first.from === first.to && !isNested(nodes, first.to))) return [];
    const names = [...new Set(together.map(({ event }) => event))].join(' · ');
    return [{ from: first.from, to: first.to, label: others.length > 0 ? names : labelOf(first) }];
  });
}

/** The name that a node has in the text. */
export function mermaidNames({ nodes }: Sketch): ReadonlyMap<string, string> {
  return new Map(nodes.map(({ id }, n) => [id, `s${n}`]));
}

const colours = [
  'classDef leased fill:#dbeafe,stroke:#2563eb,color:#172554',
  'classDef final fill:#f1f5f9,stroke:#475569,color:#0f172a',
];

/** Writes a sketch as a state diagram. */
export function mermaidOf(sketch: Sketch): string {
  const names = mermaidNames(sketch);
  const nameOf = (id: string) => names.get(id) ?? '';
  const childrenOf = (id: string | undefined) => sketch.nodes.filter(({ parent }) => parent === id);

  const inside = (parent: SketchNode | undefined, indent: string): readonly string[] => {
    const children = childrenOf(parent?.id);
    return children.flatMap((node, n) => {
      const name = nameOf(node.id);
      const nested = childrenOf(node.id).length > 0;
      const state = `${indent}state "${escaped(node.name)}" as ${name}`;
      return [
        ...(parent?.parallel && n > 0 ? [`${indent}--`] : []),
        ...(nested ? [`${state} {`, ...inside(node, `${indent}  `), `${indent}}`] : [state]),
        ...staysOf(sketch, node.id).map((line) => `${indent}${name}: ${escaped(line)}`),
        ...(node.initial ? [`${indent}[*] --> ${name}`] : []),
        ...(node.final ? [`${indent}${name} --> [*]`] : []),
      ];
    });
  };
  const arrows = relationsOf(sketch).map(
    ({ from, to, label }) => `  ${nameOf(from)} --> ${nameOf(to)}: ${escaped(label)}`,
  );
  const classes = sketch.nodes.flatMap(({ id, leased, final }) => [
    ...(leased ? [`  class ${nameOf(id)} leased`] : []),
    ...(final ? [`  class ${nameOf(id)} final`] : []),
  ]);
  const used = colours.filter((line) =>
    classes.some((each) => each.endsWith(line.split(' ')[1] ?? '')),
  );
  return [
    'stateDiagram-v2',
    ...inside(undefined, '  '),
    ...arrows,
    ...used.map((line) => `  ${line}`),
    ...classes,
    '',
  ].join('\n');
}
