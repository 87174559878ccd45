// @vitest-environment happy-dom
//
// Mermaid's text, read by Mermaid itself. It takes nonsense without a word, so what it read is
// compared with the sketch, relation by relation. It needs a document, which happy-dom is.

import mermaid from 'mermaid';
import { describe, expect, it } from 'vitest';
import { mermaidNames, mermaidOf } from '../../machines/mermaid.ts';
import type { Sketch, SketchNode } from '../../machines/sketch.ts';
import { namedSketches } from '../support/sketches.ts';

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
  const nested = statements.flatMap(({ stmt, id }) => (stmt === 'state' && id ? [id] : []));
  const written = statements
    .filter(({ stmt }) => stmt === 'relation')
    .map(({ state1, state2 }) => [state1?.id ?? '', state2?.id ?? ''] as const);
  return {
    arrows: diagram
      .getRelations()
      .filter(({ id1, id2 }) => !isPseudo(id1) && !isPseudo(id2))
      .map(({ id1, id2, relationTitle = '' }) => [id1, id2, shown(relationTitle)]),
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

/** For each two nodes what leads from one to the other. */
function arrowsOf({ arrows }: Sketch, names: ReadonlyMap<string, string>) {
  const pairs = [...new Set(arrows.map(({ from, to }) => `${from} ${to}`))];
  return pairs.map((pair) => {
    const together = arrows.filter(({ from, to }) => `${from} ${to}` === pair);
    const [{ from = '', to = '', event = '', by = undefined, short = '' } = {}] = together;
    const events = [...new Set(together.map((arrow) => arrow.event))];
    const alone = `${event}${by ? ` (${senders[by]})` : ''}${short ? `, ${short}` : ''}`;
    const label = together.length === 1 ? alone : events.join(' · ');
    return [names.get(from), names.get(to), label];
  });
}

describe.each(namedSketches)('the Mermaid text of %s', (_, sketch) => {
  it('is read back as the machine, and nothing else', async () => {
    const { arrows, begins, ends, states } = await read(mermaidOf(sketch));
    const names = mermaidNames(sketch);
    expect(arrows).toEqual(arrowsOf(sketch, names));
    const named = (which: 'initial' | 'final') =>
      sketch.nodes.filter((node) => node[which]).map(({ id }) => names.get(id));
    expect(begins).toEqual(named('initial'));
    expect(ends).toEqual(named('final'));
    expect(states).toEqual([...names.values()].toSorted());
  });
});

const odd = [
  ...['a: b', 'a; b', 'a --> b', '"a" as b', 'end', 'a #59; b', '%% a', 'a <<choice>>', '[*]'],
  ...['state', 'note', 'class', 'x }', 'a "b" c', 'classDef x', '---'],
];

describe('Mermaid', () => {
  const [[, sketch] = []] = namedSketches;
  if (!sketch) throw new Error('there is no machine');

  it('reads the oddest events as text, and the oddest statuses as names', async () => {
    expect(odd).toHaveLength(16);
    const [first] = sketch.arrows;
    if (!first) throw new Error('the machine has no arrow');
    const strange: Sketch = {
      ...sketch,
      nodes: odd.map((name, n) => ({ ...sketch.nodes[0], id: `${n}`, name }) as SketchNode),
      arrows: odd.map((event, n) => ({ ...first, from: `${n}`, to: '0', event, short: event })),
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
