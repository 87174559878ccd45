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
  sketchOf,
} from '../../machines/sketch.ts';
import type { Machine } from '../../machines/status-machine.ts';
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
  const conditions = guard.map(({ name, words }) => `${words} (\`${name}\`)`);
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

const arrowsOf = ({ arrows }: Sketch): string =>
  table(
    ['from → to', 'event', 'sent by', 'only if', 'what changes', 'fence'],
    arrows.map((arrow) => [
      `\`${arrow.from}\` → \`${arrow.to}\``,
      inLines([`\`${arrow.event}\``, ...(arrow.description ? [arrow.description] : [])]),
      arrow.by === undefined ? '' : senderInWords(arrow.by).short,
      guardOf(arrow),
      inLines(arrow.effect) || 'the status alone',
      arrow.fence,
    ]),
  );

/** What stands in two columns of the table, of those values alone that it has. */
function legendOf({ arrows }: Sketch): string {
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

function pageOf(machine: Machine, sketch: Sketch): string {
  return [
    `# The machine \`${machine.id}\``,
    `<!-- Written by \`npm run diagrams\`. Change the machine, not this page. -->`,
    `${machine.description} Its runs are rows of \`fencepost.${machine.table}\`.`,
    `![The statuses of ${machine.id} and what leads from one to the other](${machine.id}.svg)`,
    '## Statuses',
    statusesOf(sketch),
    '## Arrows',
    'In the order in which they are tried: of several for one status and event, the first is\n' +
      'taken whose conditions are all true. “Quoted” names are columns, or what the event\n' +
      'brings. The name in brackets is what a refusal says if the condition is not true.',
    arrowsOf(sketch),
    legendOf(sketch),
    '## Commands',
    'What a run offers that has come to its end. Each makes a new run, linked to it.',
    commandsOf(sketch),
    '## Checks',
    'What the database holds true at every write, whoever writes.',
    checksOf(sketch),
    '## As Mermaid',
    `\`\`\`mermaid\n${mermaidOf(sketch).trimEnd()}\n\`\`\``,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

/** Everything that docs/machines/ has of these machines. */
export async function pagesOf(machines: readonly Machine[]): Promise<readonly Page[]> {
  const pages = machines.map(async (machine) => {
    const sketch = sketchOf(machine);
    return [
      { name: `${machine.id}.md`, text: pageOf(machine, sketch) },
      { name: `${machine.id}.svg`, text: await svgOf(sketch) },
    ];
  });
  return (await Promise.all(pages)).flat();
}
