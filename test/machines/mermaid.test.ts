// @vitest-environment happy-dom
//
// Mermaid's text, read by Mermaid itself. It takes nonsense without a word, so what it read is
// compared with the sketch, relation by relation. It needs a document, which happy-dom is.

import mermaid from 'mermaid';
import { describe, expect, it } from 'vitest';
import { mermaidNames, mermaidOf } from '../../machines/mermaid.ts';
import type { Sketch, SketchArrow, SketchNode } from '../../machines/sketch.ts';
import { wholeSketches } from '../support/sketches.ts';

interface Relation {
  readonly id1: string;
  readonly id2: string;
  readonly relationTitle?: string;
}

/** What a browser shows of a label: Mermaid keeps character codes in a form of its own. */
const shown = (label: string) =>
  label.replaceAll(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(Number(code)));

interface Statement {
  readonly stmt: string;
  readonly id?: string;
  readonly description?: string | readonly string[];
  readonly doc?: readonly Statement[];
  readonly state1?: Statement;
  readonly state2?: Statement;
}

/** Statements in whatever they are nested. */
const below = (statement: Statement): readonly Statement[] =>
  (statement.doc ?? []).flatMap((each) => [each, ...below(each)]);

async function read(text: string) {
  // Mermaid knows no kind of diagram before it has parsed one.
  await mermaid.parse(text);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  const diagram = db as unknown as {
    getRelations(): readonly Relation[];
    getStates(): ReadonlyMap<string, unknown>;
    getRootDocV2(): Statement;
  };
  const statements = below(diagram.getRootDocV2());
  // States around others within a parallel one are in the text's tree alone.
  const nested = [
    ...new Set(statements.flatMap(({ stmt, id }) => (stmt === 'state' && id ? [id] : []))),
  ];
  const written = statements
    .filter(({ stmt }) => stmt === 'relation')
    .map(({ state1, state2 }) => [state1?.id ?? '', state2?.id ?? ''] as const);
  return {
    arrows: diagram
      .getRelations()
      .filter(({ id1, id2 }) => !isPseudo(id1) && !isPseudo(id2))
      .map(({ id1, id2, relationTitle = '' }) => [id1, id2, shown(relationTitle)]),
    lines: nested.map((id) => [
      id,
      ...statements
        .filter((each) => each.stmt === 'state' && each.id === id)
        .flatMap(({ description = [] }) => [description].flat().map(shown)),
    ]),
    begins: written.filter(([from]) => isPseudo(from)).map(([, to]) => to),
    ends: written.filter(([, to]) => isPseudo(to)).map(([from]) => from),
    states: [...new Set([...diagram.getStates().keys(), ...nested])]
      .filter((id) => !isPseudo(id))
      .toSorted(),
  };
}

/** A dot where something begins or ends, or a line between parallel regions. */
const isPseudo = (id: string) => /_(start|end)\d*$|divider|^id-/.test(id);

const senders = { claim: 'free worker', owner: 'its worker', operator: 'person', sweep: 'clock' };

const isNested = ({ nodes }: Sketch, id: string) => nodes.some(({ parent }) => parent === id);

const labelOf = ({ event, by, short }: SketchArrow) =>
  `${event}${by ? ` (${senders[by]})` : ''}${short ? `, ${short}` : ''}`;

/** For each two nodes what leads from one to the other; what stays is of nested nodes alone. */
function arrowsOf(sketch: Sketch, names: ReadonlyMap<string, string>) {
  const arrows = sketch.arrows.filter(({ from, to }) => from !== to || isNested(sketch, from));
  const pairs = [...new Set(arrows.map(({ from, to }) => `${from} ${to}`))];
  return pairs.map((pair) => {
    const together = arrows.filter(({ from, to }) => `${from} ${to}` === pair);
    const [first] = together;
    if (!first) throw new Error('a pair without an arrow');
    const events = [...new Set(together.map((arrow) => arrow.event))];
    const label = together.length === 1 ? labelOf(first) : events.join(' · ');
    const { from, to } = first;
    return [names.get(from), names.get(to), label];
  });
}

/** What is written in each node that has no others in it: its name, and what stays in it. */
const linesOf = (sketch: Sketch, names: ReadonlyMap<string, string>) =>
  sketch.nodes
    .filter(({ id }) => !isNested(sketch, id))
    .map(({ id, name }) => [
      names.get(id),
      name,
      ...sketch.arrows
        .filter(({ from, to }) => from === id && to === id)
        .map((arrow) => `stays by ${labelOf(arrow)}`),
    ]);

describe.each(wholeSketches)('the Mermaid text of %s', (_, sketch) => {
  it('is read back as the machine, and nothing else', async () => {
    const { arrows, begins, ends, states, lines } = await read(mermaidOf(sketch));
    const names = mermaidNames(sketch);
    expect(arrows).toEqual(arrowsOf(sketch, names));
    const leaves = linesOf(sketch, names);
    const isLeaf = (id: string | undefined) => leaves.some(([leaf]) => leaf === id);
    expect(lines.filter(([id]) => isLeaf(id))).toEqual(leaves);
    const named = (which: 'initial' | 'final') =>
      sketch.nodes.filter((node) => node[which]).map(({ id }) => names.get(id));
    expect(begins.toSorted()).toEqual(named('initial').toSorted());
    expect(ends).toEqual(named('final'));
    expect(states).toEqual([...names.values()].toSorted());
  });
});

const odd = [
  ...['a: b', 'a; b', 'a --> b', '"a" as b', 'end', 'a #59; b', '%% a', 'a <<choice>>', '[*]'],
  ...['state', 'note', 'class', 'x }', 'a "b" c', 'classDef x', '---'],
];

describe('Mermaid', () => {
  const [[, sketch] = []] = wholeSketches;
  if (!sketch) throw new Error('there is no machine');

  it('reads the oddest events as text, and the oddest statuses as names', async () => {
    expect(odd).toHaveLength(16);
    const [first] = sketch.arrows;
    if (!first) throw new Error('the machine has no arrow');
    const strange: Sketch = {
      ...sketch,
      nodes: ['x', ...odd].map(
        (name, n) => ({ ...sketch.nodes[0], id: n === 0 ? 'x' : `${n - 1}`, name }) as SketchNode,
      ),
      arrows: odd.map((event, n) => ({ ...first, from: `${n}`, to: 'x', event, short: event })),
    };
    const { arrows, states } = await read(mermaidOf(strange));
    expect(arrows).toEqual(arrowsOf(strange, mermaidNames(strange)));
    expect(states).toEqual([...mermaidNames(strange).values()].toSorted());
  });

  it('takes nonsense without a word, so that reading it back is needed', async () => {
    const { states } = await read('stateDiagram-v2\n  a --> b: x; y\n');
    expect(states.length).toBeGreaterThan(2);
  });
});
