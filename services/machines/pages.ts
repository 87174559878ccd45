// The pages of docs/machines/: a machine as a picture, as a table of every arrow in words, and as
// Mermaid. `npm run diagrams` writes them, and a test compares them with the machines.
//
// - Nothing on them is written by hand, so nothing on them can be wrong about the machine.
// - A machine that is too large for one picture has several (sketch-parts.ts).

import { mermaidOf } from '../../machines/mermaid.ts';
import {
  fenceInWords,
  type Sketch,
  type SketchArrow,
  senderInWords,
} from '../../machines/sketch.ts';
import { overviewOf, partsOf } from '../../machines/sketch-parts.ts';
import { svgOf } from './svg.ts';

interface Page {
  /** In docs/machines/. */
  readonly name: string;
  readonly text: string;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

const inLines = (parts: readonly string[]): string => parts.join('<br>');

function guardOf({ guard, isElse, event }: SketchArrow): string {
  const conditions = guard.map(({ name, words }) => (words ? `${words} (\`${name}\`)` : name));
  const before = isElse ? [`no \`${event}\` above can be taken`] : [];
  return inLines([...before, ...conditions]) || 'always';
}

/** `documentSession` is drawn in document-session.svg. */
const fileOf = (id: string): string =>
  id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A node by the rooms that it is in, without the machine's name. */
const placeOf = (sketch: Sketch, id: string): string =>
  id.startsWith(`${sketch.id}.`) ? id.slice(sketch.id.length + 1) : id;

const statusesOf = (sketch: Sketch): string =>
  table(
    ['status', 'meaning', ''],
    sketch.nodes.map(({ id, description, initial, leased, final }) => [
      `\`${placeOf(sketch, id)}\``,
      description ?? '',
      [initial ? 'begins here' : '', leased ? 'has an owner' : '', final ? 'ends here' : '']
        .filter((each) => each !== '')
        .join(', '),
    ]),
  );

const leads = (sketch: Sketch, { from, to }: SketchArrow): string =>
  `\`${placeOf(sketch, from)}\` → \`${placeOf(sketch, to)}\``;

/** Who may send and the fence are of persisted machines alone. */
function arrowsOf(sketch: Sketch): string {
  const { arrows, table: persisted } = sketch;
  const columns: readonly (readonly [string, (arrow: SketchArrow) => string])[] = [
    ['from → to', (arrow) => leads(sketch, arrow)],
    [
      'event',
      ({ event, description }) => inLines([`\`${event}\``, ...(description ? [description] : [])]),
    ],
    ['sent by', ({ by }) => (by === undefined ? '' : senderInWords(by).short)],
    ['only if', guardOf],
    ['what changes', ({ effect }) => inLines(effect) || 'the status alone'],
    ['fence', ({ fence }) => fence],
  ];
  const shown = columns.filter(([name]) => persisted || !['sent by', 'fence'].includes(name));
  return table(
    shown.map(([name]) => name),
    arrows.map((arrow) => shown.map(([, say]) => say(arrow))),
  );
}

/** What stands in two columns of the table, of those values alone that it has. */
function legendOf({ arrows, table: persisted }: Sketch): string {
  if (!persisted) return '';
  const senders = [...new Set(arrows.flatMap(({ by }) => (by === undefined ? [] : [by])))];
  const fences = [...new Set(arrows.map(({ fence }) => fence))];
  return [
    ...senders.map((by) => `- Sent by *${senderInWords(by).short}*: ${senderInWords(by).words}.`),
    ...fences.map((fence) => `- Fence *${fence}*: ${fenceInWords(fence)}.`),
  ].join('\n');
}

const commandsOf = ({ commands }: Sketch): string =>
  commands.length === 0
    ? 'None.'
    : table(
        ['command', 'offered by', 'what it does'],
        commands.map(({ name, from, description }) => [
          `\`${name}\``,
          from.map((status) => `\`${status}\``).join(', '),
          description,
        ]),
      );

const checksOf = ({ checks }: Sketch): string =>
  checks.length === 0
    ? 'None.'
    : table(
        ['check', 'what holds'],
        checks.map(({ name, words }) => [`\`${name}\``, words]),
      );

/** What an event does, wherever it comes: for a machine that is in several states at once. */
function eventsOf(sketch: Sketch): string {
  const events = [...new Set(sketch.arrows.map(({ event }) => event))].toSorted();
  return table(
    ['event', 'what it does where'],
    events.map((event) => {
      const arrows = sketch.arrows.filter((arrow) => arrow.event === event);
      const lines = arrows.map((arrow) => {
        const { from, to, short, effect } = arrow;
        const place = from === to ? `in \`${placeOf(sketch, from)}\`` : leads(sketch, arrow);
        return [`${place}${short ? `, ${short}` : ''}`, ...effect].join('; ');
      });
      return [event, inLines(lines)];
    }),
  );
}

const picturesOf = (sketch: Sketch): string => {
  const parts = partsOf(sketch).map(
    ({ id, description }) =>
      `### ${id.slice(sketch.id.length + 1)}\n\n${description}\n\n![${id}](${fileOf(id)}.svg)`,
  );
  return parts.length === 0 ? '' : ['## States that are drawn apart', ...parts].join('\n\n');
};

const intro = `In the order in which they are tried: of several for one status and event, the first is
taken whose conditions are all true.`;
const persistedIntro = `“Quoted” names are columns, or what the event
brings. The name in brackets is what a refusal says if the condition is not true.`;

function pageOf(sketch: Sketch): string {
  const { id, description, table: persisted } = sketch;
  const rows = persisted ? ` Its runs are rows of \`fencepost.${persisted}\`.` : '';
  const ofTheDatabase = [
    '## Commands',
    'What a run offers that has come to its end. Each makes a new run, linked to it.',
    commandsOf(sketch),
    '## Checks',
    'What the database holds true at every write, whoever writes.',
    checksOf(sketch),
  ];
  const parts = [
    `# The machine \`${id}\``,
    `<!-- Written by \`npm run diagrams\`. Change the machine, not this page. -->`,
    `${description}${rows}`,
    `![The statuses of ${id} and what leads from one to the other](${fileOf(id)}.svg)`,
    picturesOf(sketch),
    '## Statuses',
    statusesOf(sketch),
    '## Arrows',
    persisted ? `${intro} ${persistedIntro}` : intro,
    arrowsOf(sketch),
    legendOf(sketch),
    ...(persisted ? ofTheDatabase : ['## By event', eventsOf(sketch)]),
    '## As Mermaid',
    `\`\`\`mermaid\n${mermaidOf(overviewOf(sketch)).trimEnd()}\n\`\`\``,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Everything that docs/machines/ has of these machines. */
export async function pagesOf(sketches: readonly Sketch[]): Promise<readonly Page[]> {
  const pages = sketches.map(async (sketch) => [
    { name: `${fileOf(sketch.id)}.md`, text: pageOf(sketch) },
    ...(await Promise.all(
      [overviewOf(sketch), ...partsOf(sketch)].map(async (each) => ({
        name: `${fileOf(each.id)}.svg`,
        text: await svgOf(each),
      })),
    )),
  ]);
  return (await Promise.all(pages)).flat();
}
