// A sketch as an SVG, for a review in a pull request and for the console: laid out by ELK, drawn
// here.
//
// - The same sketch gives the same bytes, on every machine.
// - It stands alone: no script, no font, no reference outside. Light and dark follow the reader's
//   own setting (paint.ts).
// - Wires run behind their labels, so a label is always on top of its own.

import type { Sketch } from '../../machines/sketch.ts';
import { type Block, fonts, type Line, partGap } from './block.ts';
import { drawIcon } from './icons.ts';
import { type Layout, type PlacedNode, type PlacedWire, type Point, padding } from './layout.ts';
import { legendOf } from './legend.ts';
import { nightOf, painted } from './paint.ts';
import { layoutOf } from './regions.ts';

const margin = 20;
const corner = 8;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);

const round = (value: number): number => Math.round(value * 10) / 10;

function drawLine(line: Line, x: number, baseline: number): string {
  const parts = line.parts.map(({ text, font, paint }, n) => {
    const { size, bold } = { bold: false, ...fonts[font] };
    const gap = n === 0 ? '' : ` dx="${partGap}"`;
    const weight = bold ? ' font-weight="600"' : '';
    return `<tspan${gap} font-size="${size}"${weight} ${painted(paint, 'fill')}>${escaped(text)}</tspan>`;
  });
  const arrow = line.arrows === undefined ? '' : ` data-arrow="${escaped(line.arrows.join(' '))}"`;
  const icon = line.icon === undefined ? '' : drawIcon(line.icon, x, round(baseline - 11.5));
  return `${icon}<text x="${x + line.indent}" y="${baseline}"${arrow}>${parts.join('')}</text>`;
}

/** The lines of a block, from its upper left corner; `rule` is where its rules begin and end. */
function drawBlock(block: Block, at: Point, rule: readonly [number, number]): string {
  const drawn: string[] = [];
  let y = at.y;
  for (const line of block.lines) {
    if (line.rule) {
      const middle = round(y + line.above / 2);
      drawn.push(`<path d="M${rule[0]} ${middle}H${rule[1]}" ${painted('rule')}/>`);
    }
    y += line.above + line.height;
    drawn.push(drawLine(line, at.x, round(y - 4.5)));
  }
  return drawn.join('');
}

function drawNode({ node, block, nested, x, y, width, height }: PlacedNode): string {
  const paint = nested ? 'room' : node.leased ? 'owned' : node.final ? 'end' : 'card';
  const box = (inset: number, radius: number, how: string) =>
    `<rect x="${x + inset}" y="${y + inset}" width="${width - 2 * inset}" height="${height - 2 * inset}" rx="${radius}" ${how}/>`;
  const dashed = nested && node.parallel ? ' stroke-dasharray="6 4"' : '';
  const frame = [box(0, 10, `${painted(paint)} stroke-width="1.5"${dashed}`)];
  if (node.final) frame.push(box(4, 7, `${painted(paint, 'stroke')} stroke-width="1"`));
  if (node.leased) {
    frame.push(
      `<path d="M${x + 10} ${y}H${x + 6}V${y + height}H${x + 10}A10 10 0 0 1 ${x} ${y + height - 10}V${y + 10}A10 10 0 0 1 ${x + 10} ${y}Z" ${painted('bar')}/>`,
    );
  }
  const at = { x: x + padding.node + (node.leased ? 4 : 0), y: y + padding.node };
  const inner = node.final ? 4.5 : 1;
  const rule = [x + (node.leased ? 6 : inner), x + width - inner] as const;
  const title = node.description === undefined ? '' : `<title>${escaped(node.description)}</title>`;
  return `<g data-node="${escaped(node.id)}">${title}${frame.join('')}${drawBlock(block, at, rule)}</g>`;
}

/** A wire with round corners. */
function pathOf(points: readonly Point[]): string {
  return points
    .map((point, n) => {
      const [before, next] = [points[n - 1], points[n + 1]];
      if (!before) return `M${round(point.x)} ${round(point.y)}`;
      if (!next) return `L${round(point.x)} ${round(point.y)}`;
      const toward = (other: Point) => {
        const length = Math.hypot(other.x - point.x, other.y - point.y);
        const share = Math.min(corner, length / 2) / (length || 1);
        return `${round(point.x + (other.x - point.x) * share)} ${round(point.y + (other.y - point.y) * share)}`;
      };
      return `L${toward(before)}Q${round(point.x)} ${round(point.y)} ${toward(next)}`;
    })
    .join('');
}

const drawWire = ({ from, to, points }: PlacedWire, head: string): string =>
  `<path d="${pathOf(points)}" ${painted('wire')} fill="none" stroke-width="1.6" marker-end="url(#${head})" data-from="${escaped(from)}" data-to="${escaped(to)}"/>`;

function drawLabel({ label }: PlacedWire): string {
  if (!label) return '';
  const { x, y, width, height, block } = label;
  const at = { x: x + padding.label, y: y + padding.label };
  return `<g data-label=""><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" ${painted('label')}/>${drawBlock(block, at, [x, x + width])}</g>`;
}

function draw(sketch: Sketch, layout: Layout): string {
  const scope = `machine-${sketch.id}`;
  const head = `${scope}-head`;
  const legend = legendOf(sketch, Math.max(layout.width, 480));
  const width = Math.ceil(Math.max(layout.width, legend.width)) + 2 * margin;
  const height = Math.ceil(layout.height + legend.height) + 3 * margin;
  const starts = layout.starts.map(
    ({ x, y }) =>
      `<circle cx="${x + padding.start}" cy="${y + padding.start}" r="${padding.start}" ${painted('head')}/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" class="${scope}" role="img" aria-labelledby="${scope}-title" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif">`,
    `<title id="${scope}-title">${escaped(`${sketch.id}: ${sketch.description}`)}</title>`,
    `<style>${nightOf(scope)}</style>`,
    `<defs><marker id="${head}" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8Z" ${painted('head')}/></marker></defs>`,
    `<rect width="${width}" height="${height}" rx="12" ${painted('page')}/>`,
    `<g transform="translate(${margin} ${margin})">`,
    ...layout.nodes.filter(({ nested }) => nested).map(drawNode),
    ...starts,
    ...layout.wires.map((wire) => drawWire(wire, head)),
    ...layout.nodes.filter(({ nested }) => !nested).map(drawNode),
    ...layout.wires.map(drawLabel).filter((text) => text !== ''),
    '</g>',
    `<g transform="translate(${margin} ${Math.ceil(layout.height) + 2 * margin})">${legend.svg}</g>`,
    '</svg>',
    '',
  ].join('\n');
}

/** Draws a sketch. */
export async function svgOf(sketch: Sketch): Promise<string> {
  return draw(sketch, await layoutOf(sketch));
}
