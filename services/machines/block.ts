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
import { listed } from '../../machines/words.ts';
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
  /** It belongs to the arrows of these ids. */
  readonly arrows?: readonly string[];
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

/** Whether an arrow stays in its node, or leads to one that is nested in it. */
function isWithin(sketch: Sketch, { from, to }: Pick<SketchArrow, 'from' | 'to'>): boolean {
  if (from === to) return true;
  const parent = sketch.nodes.find(({ id }) => id === to)?.parent;
  return parent !== undefined && isWithin(sketch, { from, to: parent });
}

/** From this many on, wires to the same node, or from it, hide more than they show. */
const many = 6;

/** Whether so many nodes lead to this one, or it to so many, that the wires would be a knot. */
function isHub(sketch: Sketch, id: string, end: 'from' | 'to'): boolean {
  const arrows = sketch.arrows.filter((arrow) => arrow[end] === id && !isWithin(sketch, arrow));
  return new Set(arrows.map((arrow) => arrow[end === 'from' ? 'to' : 'from'])).size >= many;
}

const isFar = (sketch: Sketch, arrow: SketchArrow): boolean =>
  !isWithin(sketch, arrow) &&
  (arrow.toward !== undefined ||
    isHub(sketch, arrow.to, 'to') ||
    isHub(sketch, arrow.from, 'from'));

/** Whether an arrow is written in the node from which it leads, and needs no wire. */
export const isWritten = (sketch: Sketch, arrow: SketchArrow): boolean =>
  isWithin(sketch, arrow) || isFar(sketch, arrow);

interface Place {
  readonly above: number;
  /** The node it leads to, where no wire says so. */
  readonly toward?: string | undefined;
}

/** Arrows of one guard and one target: who sends what, and below it the guard in few words. */
function arrowLines(arrows: readonly SketchArrow[], { above, toward }: Place): readonly Line[] {
  const [{ by, short } = { by: undefined, short: '' }] = arrows;
  const indent = by === undefined ? 0 : iconWidth;
  const names = wrapped(
    listed(
      arrows.map(({ event }) => event),
      'or',
    ),
    fonts.event,
    mostText,
  );
  const heads = names.map((text, n): Line => {
    const isLast = n === names.length - 1;
    return {
      parts: [
        { text, font: 'event', paint: 'text' },
        ...(by === undefined
          ? []
          : [{ text: senderInWords(by).short, font: 'small', paint: by } as const]),
        ...(toward === undefined || !isLast
          ? []
          : [{ text: `→ ${toward}`, font: 'small', paint: 'quiet' } as const]),
      ],
      ...(by !== undefined && { icon: by }),
      indent,
      height: 17,
      above: n === 0 ? above : 0,
    };
  });
  const guard = short === '' ? [] : textLines(short, indent);
  const ids = arrows.map(({ id }) => id);
  return [...heads, ...guard].map((line) => ({ ...line, arrows: ids }));
}

/**
 * Arrows that can be told in one breath: of the same guard and target. Where senders are known each
 * has a line of its own.
 */
function gathered(arrows: readonly SketchArrow[]): readonly (readonly SketchArrow[])[] {
  const groups = new Map<string, SketchArrow[]>();
  for (const arrow of arrows) {
    const { id, by, short, to } = arrow;
    const key = by === undefined ? JSON.stringify([short, to]) : id;
    groups.set(key, [...(groups.get(key) ?? []), arrow]);
  }
  return [...groups.values()];
}

/** The label of several arrows that lead from one node to the same other one. */
export function labelBlock(arrows: readonly SketchArrow[]): Block {
  return blockOf(
    gathered(arrows).flatMap((group, n) => arrowLines(group, { above: n === 0 ? 0 : 7 })),
  );
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
    ...gathered(arrows).flatMap((group, n) => {
      const [first] = group;
      const place = { above: n === 0 ? 4 : 7, toward: first && toward(first) };
      return arrowLines(group, place);
    }),
  ];
}

/** A node: its name, what it means, the arrows that are written in it, and its commands. */
export function nodeBlock(sketch: Sketch, node: SketchNode): Block {
  const title: Line = {
    parts: [{ text: node.name, font: 'title', paint: 'text' }],
    indent: 0,
    height: 20,
    above: 0,
  };
  const about = [
    ...(node.description === undefined ? [] : [node.description]),
    ...(node.within ? [`In it, drawn apart: ${listed(node.within, 'and')}.`] : []),
    ...(isHub(sketch, node.id, 'to') ? ['Many lead here; each says so.'] : []),
  ].flatMap((text) => textLines(text, 0));
  const activities = node.activities.map(
    (text): Line => ({
      parts: [{ text, font: 'small', paint: 'text' }],
      icon: 'activity',
      indent: iconWidth,
      height: 17,
      above: 4,
    }),
  );
  const own = sketch.arrows.filter(({ from }) => from === node.id);
  const loops = own.filter(({ to }) => to === node.id);
  const inward = own.filter((arrow) => arrow.to !== node.id && isWithin(sketch, arrow));
  const far = own.filter((arrow) => isFar(sketch, arrow));
  const nameOf = ({ to, toward }: SketchArrow) =>
    toward ?? sketch.nodes.find(({ id }) => id === to)?.name;
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
    ...section('from anywhere in it', inward, nameOf),
    ...section('leads on by', far, nameOf),
    ...commands,
  ];
  return blockOf(lines, leastCard);
}
