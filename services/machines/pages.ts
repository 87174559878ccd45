// The pages of docs/machines/: a machine as a picture, as a table of every arrow in words, and as
// Mermaid. `npm run diagrams` writes them, and a test compares them with the machines.
//
// - Nothing on them is written by hand, so nothing on them can be wrong about the machine.

import { mermaidOf } from '../../machines/mermaid.ts';
import {
  fenceInWords,
  type Sketch,
  type SketchArrow,
  senderInWords,
} from '../../machines/sketch.ts';
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

const statusesOf = ({ nodes }: Sketch): string =>
  table(
    ['status', 'meaning', ''],
    nodes.map(({ name, description, initial, leased, final }) => [
      `\`${name}\``,
      description ?? '',
      [initial ? 'begins here' : '', leased ? 'has an owner' : '', final ? 'ends here' : '']
        .filter((each) => each !== '')
        .join(', '),
    ]),
  );

/** Who may send and the fence are of persisted machines alone. */
function arrowsOf({ arrows, table: persisted }: Sketch): string {
  const columns: readonly (readonly [string, (arrow: SketchArrow) => string])[] = [
    ['from → to', ({ from, to }) => `\`${from}\` → \`${to}\``],
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
    `![The statuses of ${id} and what leads from one to the other](${id}.svg)`,
    '## Statuses',
    statusesOf(sketch),
    '## Arrows',
    persisted ? `${intro} ${persistedIntro}` : intro,
    arrowsOf(sketch),
    legendOf(sketch),
    ...(persisted ? ofTheDatabase : []),
    '## As Mermaid',
    `\`\`\`mermaid\n${mermaidOf(sketch).trimEnd()}\n\`\`\``,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Everything that docs/machines/ has of these machines. */
export async function pagesOf(sketches: readonly Sketch[]): Promise<readonly Page[]> {
  const pages = sketches.map(async (sketch) => [
    { name: `${sketch.id}.md`, text: pageOf(sketch) },
    { name: `${sketch.id}.svg`, text: await svgOf(sketch) },
  ]);
  return (await Promise.all(pages)).flat();
}
