// What the signs of a picture mean: one row below it, of those signs alone that it has.

import { type Sketch, senderInWords } from '../../machines/sketch.ts';
import { fonts, type Icon, iconWidth } from './block.ts';
import { drawIcon } from './icons.ts';
import { widthOf } from './measure.ts';
import { painted } from './paint.ts';

interface Legend {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

interface Entry {
  readonly sign: (x: number, y: number) => string;
  readonly text: string;
}

const rowHeight = 22;
const gap = 22;

const sign = (icon: Icon) => (x: number, y: number) => drawIcon(icon, x, y);
const start = (x: number, y: number) =>
  `<circle cx="${x + 7}" cy="${y + 7}" r="6" ${painted('head')}/>`;
const owned = (x: number, y: number) =>
  `<rect x="${x}" y="${y + 1}" width="14" height="12" rx="3" ${painted('owned')}/>` +
  `<path d="M${x + 3} ${y + 1}V${y + 13}" ${painted('owned', 'stroke')} stroke-width="4"/>`;
const end = (x: number, y: number) =>
  `<rect x="${x}" y="${y + 1}" width="14" height="12" rx="3" ${painted('end')}/>` +
  `<rect x="${x + 2.5}" y="${y + 3.5}" width="9" height="7" rx="1.5" ${painted('end', 'stroke')}/>`;

function entriesOf({ nodes, arrows, commands }: Sketch): readonly Entry[] {
  const senders = (['claim', 'owner', 'operator', 'sweep'] as const).filter((by) =>
    arrows.some((arrow) => arrow.by === by),
  );
  return [
    { sign: start, text: 'begins here' },
    ...(nodes.some(({ leased }) => leased) ? [{ sign: owned, text: 'has an owner' }] : []),
    ...(nodes.some(({ final }) => final) ? [{ sign: end, text: 'ends here' }] : []),
    ...senders.map((by) => ({ sign: sign(by), text: `sent by: ${senderInWords(by).short}` })),
    ...(commands.length > 0 ? [{ sign: sign('command'), text: 'command of a person' }] : []),
  ];
}

/** Draws the legend in rows of at most `most` pixels. */
export function legendOf(sketch: Sketch, most: number): Legend {
  let [x, row, width] = [0, 0, 0];
  const drawn = entriesOf(sketch).map((entry) => {
    const needed = iconWidth + widthOf(entry.text, fonts.small);
    if (x > 0 && x + needed > most) [x, row] = [0, row + 1];
    const [left, top] = [x, row * rowHeight];
    x += needed + gap;
    width = Math.max(width, left + needed);
    return `${entry.sign(left, top)}<text x="${left + iconWidth}" y="${top + 11}" font-size="${fonts.small.size}" ${painted('quiet')}>${entry.text}</text>`;
  });
  return { svg: drawn.join(''), width, height: (row + 1) * rowHeight };
}
