// Several sketches of a machine that is too large for one picture: the whole with some of its
// states closed, and each of these alone. docs/machines/ draws them.
//
// - Closed are the states with others in them, in a region that has more than a dozen. A small
//   machine is its own overview and has no parts.
// - Every arrow is in the overview or in a part: in the overview what leads from one of its nodes
//   to another, in a part all that begins in it.

import type { Sketch, SketchArrow, SketchNode } from './sketch.ts';

const mostNodes = 12;

const childrenOf = ({ nodes }: Sketch, id: string): readonly SketchNode[] =>
  nodes.filter(({ parent }) => parent === id);
const below = (sketch: Sketch, id: string): readonly SketchNode[] =>
  childrenOf(sketch, id).flatMap((child) => [child, ...below(sketch, child.id)]);

/** The states that are drawn apart. */
function closedOf(sketch: Sketch): readonly SketchNode[] {
  const roots = sketch.nodes.filter(({ parent }) => parent === undefined);
  const rooms = roots.flatMap((root) => (root.parallel ? childrenOf(sketch, root.id) : [root]));
  return rooms
    .filter(({ id }) => below(sketch, id).length > mostNodes)
    .flatMap(({ id }) => childrenOf(sketch, id))
    .filter(({ id }) => childrenOf(sketch, id).length > 0);
}

/** The whole, without what is in the states that are drawn apart. */
export function overviewOf(sketch: Sketch): Sketch {
  const drawnAs = new Map<string, string>();
  for (const { id } of closedOf(sketch)) {
    for (const inner of below(sketch, id)) drawnAs.set(inner.id, id);
  }
  const nameOf = (id: string) => drawnAs.get(id) ?? id;
  const closed = new Set(drawnAs.values());
  return {
    ...sketch,
    nodes: sketch.nodes
      .filter(({ id }) => !drawnAs.has(id))
      .map((node) =>
        closed.has(node.id)
          ? { ...node, within: childrenOf(sketch, node.id).map(({ name }) => name) }
          : node,
      ),
    arrows: sketch.arrows.flatMap((arrow) => {
      const [from, to] = [nameOf(arrow.from), nameOf(arrow.to)];
      const isInside = from === to && (arrow.from !== from || arrow.to !== to);
      return isInside ? [] : [{ ...arrow, from, to }];
    }),
  };
}

/** A sketch for each state that the overview has closed. */
export function partsOf(sketch: Sketch): readonly Sketch[] {
  return closedOf(sketch).map((closed) => {
    const { parent: _, initial: __, ...room } = closed;
    const nodes = [{ ...room, initial: false }, ...below(sketch, closed.id)];
    const ids = new Set(nodes.map(({ id }) => id));
    const toward = (id: string) => sketch.nodes.find((node) => node.id === id)?.name ?? id;
    return {
      ...sketch,
      id: `${sketch.id}-${closed.name}`,
      description: closed.description ?? '',
      nodes,
      arrows: sketch.arrows
        .filter(({ from }) => ids.has(from))
        .map(
          (arrow): SketchArrow =>
            ids.has(arrow.to) ? arrow : { ...arrow, toward: toward(arrow.to) },
        ),
      commands: [],
      checks: [],
    };
  });
}
