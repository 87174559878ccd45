// Where everything of a sketch goes. Regions that are in force at once have nothing to do with each
// other, so each is laid out alone: the largest on the left, the others below each other beside it.
//
// - A sketch with a wire from one region into another is laid out as one graph.

import type { Sketch, SketchNode } from '../../machines/sketch.ts';
import { isWritten, nodeBlock } from './block.ts';
import { graphLayoutOf, type Layout, type Point, padding } from './layout.ts';

const gap = 28;

function idsBelow({ nodes }: Sketch, id: string): readonly string[] {
  const children = nodes.filter(({ parent }) => parent === id);
  return [id, ...children.flatMap((child) => idsBelow({ nodes } as Sketch, child.id))];
}

/** The part of a sketch that lies in one region; undefined where a wire leads out of it. */
function regionOf(sketch: Sketch, region: string): Sketch | undefined {
  const ids = new Set(idsBelow(sketch, region));
  const arrows = sketch.arrows.filter(({ from }) => ids.has(from));
  if (arrows.some((arrow) => !isWritten(sketch, arrow) && !ids.has(arrow.to))) return undefined;
  const nodes = sketch.nodes
    .filter(({ id }) => ids.has(id))
    .map(({ parent, ...node }): SketchNode => {
      return node.id === region || parent === undefined ? node : { ...node, parent };
    });
  return { ...sketch, nodes, arrows };
}

function moved(layout: Layout, by: Point): Layout {
  const move = <T extends Point>(box: T): T => ({ ...box, x: box.x + by.x, y: box.y + by.y });
  return {
    ...layout,
    nodes: layout.nodes.map(move),
    starts: layout.starts.map(move),
    wires: layout.wires.map(({ label, ...wire }) => ({
      ...wire,
      points: wire.points.map(move),
      ...(label && { label: move(label) }),
    })),
  };
}

/** The regions in their places, in a room that begins at nought. */
function packed(regions: readonly Layout[]): readonly Layout[] {
  const area = ({ width, height }: Layout) => width * height;
  const largest = regions.toSorted((a, b) => area(b) - area(a))[0];
  let y = 0;
  return regions.map((each) => {
    if (each === largest) return each;
    const at = { x: (largest?.width ?? 0) + gap, y };
    y += each.height + gap;
    return moved(each, at);
  });
}

const ends = (layouts: readonly Layout[]) => ({
  right: Math.max(...layouts.flatMap(({ nodes }) => nodes.map(({ x, width }) => x + width))),
  bottom: Math.max(...layouts.flatMap(({ nodes }) => nodes.map(({ y, height }) => y + height))),
});

/** Lays a sketch out. */
export async function layoutOf(sketch: Sketch): Promise<Layout> {
  const root = sketch.nodes.find(({ parent, parallel }) => parent === undefined && parallel);
  const ids = sketch.nodes.filter(({ parent }) => root && parent === root.id).map(({ id }) => id);
  const regions = ids.flatMap((id) => regionOf(sketch, id) ?? []);
  if (!root || regions.length < ids.length) return await graphLayoutOf(sketch);
  const block = nodeBlock(sketch, root);
  const top = block.height + 2 * padding.node;
  const laidOut = await Promise.all(regions.map(graphLayoutOf));
  const inside = packed(laidOut).map((each) => moved(each, { x: gap, y: top }));
  const { right, bottom } = ends(inside);
  const [width, height] = [Math.max(right, block.width) + gap, bottom + gap];
  return {
    width,
    height,
    nodes: [
      { node: root, block, nested: true, x: 0, y: 0, width, height },
      ...inside.flatMap(({ nodes }) => nodes),
    ],
    starts: inside.flatMap(({ starts }) => starts),
    wires: inside.flatMap(({ wires }) => wires),
  };
}
