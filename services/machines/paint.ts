// The colours of the pictures, by day and by night.
//
// - The light ones are attributes of each element, so a picture is whole also where a Content
//   Security Policy lets no style through. The one style sheet only turns it dark.
// - No meaning is told by colour alone: an owner has a bar and an icon, an end a double line, and
//   who sends an event is a word and an icon.

import type { Sender } from '../../machines/status-machine.ts';

type Paint = Readonly<Partial<Record<'fill' | 'stroke', string>>>;

const paints = {
  page: [{ fill: '#ffffff' }, { fill: '#0d1117' }],
  text: [{ fill: '#0f172a' }, { fill: '#e6edf3' }],
  quiet: [{ fill: '#475569' }, { fill: '#a3adb8' }],
  wire: [{ stroke: '#64748b' }, { stroke: '#8b949e' }],
  head: [{ fill: '#64748b' }, { fill: '#8b949e' }],
  rule: [{ stroke: '#cbd5e1' }, { stroke: '#3d444d' }],
  label: [
    { fill: '#ffffff', stroke: '#cbd5e1' },
    { fill: '#161b22', stroke: '#3d444d' },
  ],
  card: [
    { fill: '#f8fafc', stroke: '#475569' },
    { fill: '#1c2430', stroke: '#9da7b3' },
  ],
  owned: [
    { fill: '#e0edff', stroke: '#1d4ed8' },
    { fill: '#10294d', stroke: '#6cb0ff' },
  ],
  bar: [{ fill: '#1d4ed8' }, { fill: '#6cb0ff' }],
  end: [
    { fill: '#f1f5f9', stroke: '#475569' },
    { fill: '#161b22', stroke: '#9da7b3' },
  ],
  room: [
    { fill: 'none', stroke: '#94a3b8' },
    { fill: 'none', stroke: '#6e7681' },
  ],
  claim: [
    { fill: '#1d4ed8', stroke: '#1d4ed8' },
    { fill: '#79c0ff', stroke: '#79c0ff' },
  ],
  owner: [
    { fill: '#1d4ed8', stroke: '#1d4ed8' },
    { fill: '#79c0ff', stroke: '#79c0ff' },
  ],
  operator: [
    { fill: '#7e22ce', stroke: '#7e22ce' },
    { fill: '#d8b4fe', stroke: '#d8b4fe' },
  ],
  sweep: [
    { fill: '#9a4a06', stroke: '#9a4a06' },
    { fill: '#f0b849', stroke: '#f0b849' },
  ],
} as const satisfies Readonly<Record<string, readonly [Paint, Paint]>> &
  Readonly<Record<Sender, readonly [Paint, Paint]>>;

export type PaintName = keyof typeof paints;

/** The attributes of an element that is painted so; `only`: its fill or its stroke alone. */
export function painted(name: PaintName, only?: 'fill' | 'stroke'): string {
  const [light]: readonly [Paint, Paint] = paints[name];
  const [fill, stroke] = [
    only === 'stroke' ? 'none' : light.fill,
    only === 'fill' ? undefined : light.stroke,
  ];
  const suffix = only === undefined ? '' : `-${only}`;
  return [
    `class="${name}${suffix}"`,
    ...(fill === undefined ? [] : [`fill="${fill}"`]),
    ...(stroke === undefined ? [] : [`stroke="${stroke}"`]),
  ].join(' ');
}

const declarations = (paint: Paint) =>
  Object.entries(paint).map(([property, colour]) => `${property}:${colour}`);

/** The one style sheet of a picture, with every class below `.${scope}`. */
export function nightOf(scope: string): string {
  const rules = Object.entries(paints).flatMap(
    ([name, [, dark]]: [string, readonly [Paint, Paint]]) => [
      `.${scope} .${name}{${declarations(dark).join(';')}}`,
      ...(dark.fill === undefined ? [] : [`.${scope} .${name}-fill{fill:${dark.fill}}`]),
      ...(dark.stroke === undefined ? [] : [`.${scope} .${name}-stroke{stroke:${dark.stroke}}`]),
    ],
  );
  return `@media (prefers-color-scheme:dark){${rules.join('')}}`;
}
