// The small signs before a line: who sends an event, and what a node does besides. Each is drawn in
// a square of 14 pixels.

import type { Icon } from './block.ts';
import { painted } from './paint.ts';

const nut = 'M7 1.2 12 4.1V9.9L7 12.8 2 9.9V4.1Z';

const drawings: Readonly<Record<Icon, string>> = {
  claim: `<path d="${nut}" ${painted('claim', 'stroke')} stroke-width="1.5"/>`,
  owner:
    `<path d="${nut}" ${painted('owner', 'fill')}/>` +
    `<circle cx="7" cy="7" r="2.2" ${painted('page')}/>`,
  operator:
    `<circle cx="7" cy="4.2" r="2.9" ${painted('operator', 'fill')}/>` +
    `<path d="M1.6 13C1.6 9.9 4 8.4 7 8.4S12.4 9.9 12.4 13Z" ${painted('operator', 'fill')}/>`,
  sweep:
    `<circle cx="7" cy="7" r="5.6" ${painted('sweep', 'stroke')} stroke-width="1.5"/>` +
    `<path d="M7 3.8V7L9.4 8.6" ${painted('sweep', 'stroke')} stroke-width="1.5"/>`,
  command: `<path d="M7 1.5V12.5M1.5 7H12.5" ${painted('operator', 'stroke')} stroke-width="2"/>`,
  activity: `<path d="M2.5 1.5 12 7 2.5 12.5Z" ${painted('head')}/>`,
};

/** Draws a sign with its upper left corner at a place. */
export const drawIcon = (icon: Icon, x: number, y: number): string =>
  `<g transform="translate(${x} ${y})">${drawings[icon]}</g>`;
