// What is written in a box of the picture, line by line, measured. `layout.ts` gives the boxes to
// ELK, `svg.ts` draws them.
//
// - A line flows from left to right, so in a font narrower than was measured nothing gapes.

import {
  type Sketch,
  type SketchArrow,
  type SketchNode,
  senderInWords,
} from '../../machines/sketch.ts';
import { type Font, widthOf, wrapped } from './measure.ts';
import type { PaintName } from './paint.ts';

export const fonts = {
  title: { size: 15, bold: true },
  event: { size: 13, bold: true },
  small: { size: 11.5 },
} as const satisfies Readonly<Record<string, Font>>;

export type Icon = 'claim' | 'owner' | 'operator' | 'sweep' | 'command' | 'activity';

interface Part {
  readonly text: string;
  readonly font: keyof typeof fonts;
  readonly paint: PaintName;
}

export interface Line {
  readonly parts: readonly Part[];
  readonly icon?: Icon;
  readonly indent: number;
  readonly height: number;
  /** Space above it; `rule`: with a line across the box. */
  readonly above: number;
  readonly rule?: boolean;
  /** It belongs to the arrow of this id. */
  readonly arrow?: string;
}

export interface Block {
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

export const iconWidth = 20;
export const partGap = 6;
const mostText = 190;
const leastCard = 110;

const widthOfLine = ({ parts, indent }: Line): number =>
  indent +
  parts.reduce((sum, { text, font }) => sum + widthOf(text, fonts[font]), 0) +
  (parts.length - 1) * partGap;

function blockOf(lines: readonly Line[], least = 0): Block {
  return {
    lines,
    width: Math.max(least, ...lines.map(widthOfLine)),
    height: lines.reduce((sum, { height, above }) => sum + height + above, 0),
  };
}

function textLines(text: string, indent: number): readonly Line[] {
  return wrapped(text, fonts.small, mostText).map((part) => ({
    parts: [{ text: part, font: 'small', paint: 'quiet' }],
    indent,
    height: 15,
    above: 0,
  }));
}

/** Whether an arrow stays in its node, or leads to one that is nested in it: it needs no wire. */
export function isWrittenInside(
  sketch: Sketch,
  { from, to }: Pick<SketchArrow, 'from' | 'to'>,
): boolean {
  if (from === to) return true;
  const parent = sketch.nodes.find(({ id }) => id === to)?.parent;
  return parent !== undefined && isWrittenInside(sketch, { from, to: parent });
}

interface Place {
  readonly above: number;
  /** The node it leads to, where no wire says so. */
  readonly toward?: string | undefined;
}

/** An arrow: who sends what, and below it the guard in few words. */
function arrowLines(arrow: SketchArrow, { above, toward }: Place): readonly Line[] {
  const by = arrow.by;
  const head: Line = {
    parts: [
      { text: arrow.event, font: 'event', paint: 'text' },
      ...(by === undefined
        ? []
        : [{ text: senderInWords(by).short, font: 'small', paint: by } as const]),
      ...(toward === undefined
        ? []
        : [{ text: `→ ${toward}`, font: 'small', paint: 'quiet' } as const]),
    ],
    ...(by !== undefined && { icon: by }),
    indent: by === undefined ? 0 : iconWidth,
    height: 17,
    above,
  };
  const guard = arrow.short === '' ? [] : textLines(arrow.short, head.indent);
  return [head, ...guard].map((line) => ({ ...line, arrow: arrow.id }));
}

/** The label of several arrows that lead from one node to the same other one. */
export function labelBlock(arrows: readonly SketchArrow[]): Block {
  return blockOf(arrows.flatMap((arrow, n) => arrowLines(arrow, { above: n === 0 ? 0 : 7 })));
}

/** Arrows below a heading, which a rule sets apart. */
function section(
  heading: string,
  arrows: readonly SketchArrow[],
  toward: (arrow: SketchArrow) => string | undefined,
): readonly Line[] {
  if (arrows.length === 0) return [];
  return [
    {
      parts: [{ text: heading, font: 'small', paint: 'quiet' }],
      indent: 0,
      height: 15,
      above: 14,
      rule: true,
    },
    ...arrows.flatMap((arrow, n) =>
      arrowLines(arrow, { above: n === 0 ? 4 : 7, toward: toward(arrow) }),
    ),
  ];
}

/** A node: its name, what it means, the arrows that stay in it, and the commands that it offers. */
export function nodeBlock(sketch: Sketch, node: SketchNode): Block {
  const title: Line = {
    parts: [{ text: node.name, font: 'title', paint: 'text' }],
    indent: 0,
    height: 20,
    above: 0,
  };
  const about = node.description === undefined ? [] : textLines(node.description, 0);
  const activities = node.activities.map(
    (text): Line => ({
      parts: [{ text, font: 'small', paint: 'text' }],
      icon: 'activity',
      indent: iconWidth,
      height: 17,
      above: 4,
    }),
  );
  const loops = sketch.arrows.filter(({ from, to }) => from === node.id && to === node.id);
  const inward = sketch.arrows.filter(
    (arrow) => arrow.from === node.id && arrow.to !== node.id && isWrittenInside(sketch, arrow),
  );
  const nameOf = (id: string) => sketch.nodes.find((each) => each.id === id)?.name;
  const commands = sketch.commands
    .filter(({ from }) => from.includes(node.id))
    .map(
      ({ name }, n): Line => ({
        parts: [
          { text: name, font: 'event', paint: 'text' },
          { text: 'makes a new run', font: 'small', paint: 'operator' },
        ],
        icon: 'command',
        indent: iconWidth,
        height: 17,
        above: n === 0 ? 14 : 5,
        rule: n === 0,
      }),
    );
  const lines = [
    ...[title, ...about, ...activities],
    ...section('stays here by', loops, () => undefined),
    ...section('from anywhere in it', inward, ({ to }) => nameOf(to)),
    ...commands,
  ];
  return blockOf(lines, leastCard);
}
