// Where everything of a sketch goes, worked out by ELK. Called by `regions.ts`.
//
// - All arrows from one node to the same other one share a wire, with one label: nine arrows
//   between three statuses are three wires.
// - What is written in its node (block.ts) has no wire.
// - It goes downwards, so that a machine fits the width of a page of text: a reader scrolls, and
//   need not squint.
// - The same sketch always has the same layout.

import type { ElkNode, LayoutOptions } from 'elkjs/lib/elk.bundled.js';
import type { Sketch, SketchArrow, SketchNode } from '../../machines/sketch.ts';
import { type Block, isWritten, labelBlock, nodeBlock } from './block.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface PlacedNode extends Box {
  readonly node: SketchNode;
  readonly block: Block;
  readonly nested: boolean;
}

export interface PlacedWire {
  readonly from: string;
  readonly to: string;
  readonly points: readonly Point[];
  readonly label?: Box & { readonly block: Block };
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly starts: readonly Point[];
  readonly wires: readonly PlacedWire[];
}

export const padding = { node: 14, label: 8, start: 7 };

const startOf = (id: string) => `start of ${id}`;

const options: LayoutOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.shapeCoords': 'ROOT',
  'elk.json.edgeCoords': 'ROOT',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '24',
  'elk.spacing.edgeEdge': '18',
  'elk.spacing.edgeLabel': '6',
  'elk.spacing.labelLabel': '12',
  'elk.layered.spacing.nodeNodeBetweenLayers': '34',
  'elk.layered.spacing.edgeNodeBetweenLayers': '22',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '16',
  'elk.layered.cycleBreaking.strategy': 'DEPTH_FIRST',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.nodePlacement.favorStraightEdges': 'true',
};

/** Left to right as it was declared. ELK 0.12 fails on it where nodes are nested. */
const inOrder: LayoutOptions = {
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
};

function wiresOf(sketch: Sketch): ReadonlyMap<string, readonly SketchArrow[]> {
  const wires = new Map<string, SketchArrow[]>();
  for (const arrow of sketch.arrows) {
    if (isWritten(sketch, arrow)) continue;
    const key = JSON.stringify([arrow.from, arrow.to]);
    wires.set(key, [...(wires.get(key) ?? []), arrow]);
  }
  return wires;
}

const elkNode = (sketch: Sketch, node: SketchNode, blocks: ReadonlyMap<string, Block>): ElkNode => {
  const children = childrenOf(sketch, node.id, blocks);
  const block = blocks.get(node.id) ?? { width: 0, height: 0 };
  const [width, height] = [block.width + 2 * padding.node, block.height + 2 * padding.node];
  if (children.length === 0) return { id: node.id, width, height };
  const sides = [`top=${height}`, ...['left', 'bottom', 'right'].map((side) => `${side}=20`)];
  return {
    id: node.id,
    children,
    // A nested graph inherits nothing.
    layoutOptions: {
      ...options,
      'elk.padding': `[${sides.join(',')}]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width},${height})`,
    },
  };
};

function childrenOf(
  sketch: Sketch,
  parent: string | undefined,
  blocks: ReadonlyMap<string, Block>,
): ElkNode[] {
  return sketch.nodes
    .filter((node) => node.parent === parent)
    .flatMap((node) => {
      const own = elkNode(sketch, node, blocks);
      if (!node.initial) return [own];
      const size = 2 * padding.start;
      return [{ id: startOf(node.id), width: size, height: size }, own];
    });
}

const isFlat = ({ nodes }: Sketch) => nodes.every(({ parent }) => parent === undefined);

function graphOf(sketch: Sketch, blocks: ReadonlyMap<string, Block>): ElkNode {
  const labels = [...wiresOf(sketch)].map(([key, arrows]) => {
    const [from, to] = JSON.parse(key) as [string, string];
    const { width, height } = labelBlock(arrows);
    const label = { width: width + 2 * padding.label, height: height + 2 * padding.label };
    return {
      id: key,
      sources: [from],
      targets: [to],
      labels: [{ text: key, ...label, layoutOptions: { 'elk.edgeLabels.inline': 'true' } }],
    };
  });
  const starts = sketch.nodes
    .filter(({ initial }) => initial)
    .map(({ id }) => ({ id: `to ${id}`, sources: [startOf(id)], targets: [id] }));
  return {
    id: 'sketch',
    layoutOptions: isFlat(sketch) ? { ...options, ...inOrder } : options,
    children: childrenOf(sketch, undefined, blocks),
    edges: [...starts, ...labels],
  };
}

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box {
  return { x, y, width, height };
}

const flat = (node: ElkNode): readonly ElkNode[] => [
  node,
  ...(node.children ?? []).flatMap((child) => flat(child)),
];

/** Lays a sketch out as one graph. */
export async function graphLayoutOf(sketch: Sketch): Promise<Layout> {
  const blocks = new Map(sketch.nodes.map((node) => [node.id, nodeBlock(sketch, node)]));
  // Loading it takes as long as loading a quarter of the service, and few processes draw.
  const { default: ELK } = await import('elkjs/lib/elk.bundled.js');
  const placed = await new ELK().layout(graphOf(sketch, blocks));
  const wires = wiresOf(sketch);
  const boxes = new Map(flat(placed).map((node) => [node.id, boxOf(node)]));
  return {
    width: placed.width ?? 0,
    height: placed.height ?? 0,
    nodes: sketch.nodes.map((node) => ({
      node,
      block: blocks.get(node.id) ?? nodeBlock(sketch, node),
      nested: sketch.nodes.some(({ parent }) => parent === node.id),
      ...boxOf(boxes.get(node.id) ?? {}),
    })),
    starts: sketch.nodes
      .filter(({ initial }) => initial)
      .map(({ id }) => boxOf(boxes.get(startOf(id)) ?? {})),
    wires: (placed.edges ?? []).map((edge) => {
      const arrows = wires.get(edge.id) ?? [];
      const [section] = edge.sections ?? [];
      const [label] = edge.labels ?? [];
      return {
        from: edge.sources[0] ?? '',
        to: edge.targets[0] ?? '',
        points: section
          ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint]
          : [],
        ...(label && { label: { ...boxOf(label), block: labelBlock(arrows) } }),
      };
    }),
  };
}
