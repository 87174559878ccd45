// What a sweep found, for people: a table of what the process was doing when it was disturbed, and
// each finding with the point at which it can be seen again.

import type { Swept } from './sweep.ts';
import { type Disturbance, disturbances, type Tried } from './try-point.ts';

const heads: Readonly<Record<Disturbance, string>> = {
  before: 'killed before it',
  after: 'killed after it',
  answer: 'answer swallowed',
};

function stepsOf({ tried }: Swept): readonly string[] {
  const steps = new Set(tried[0]?.passed.map(({ step }) => step));
  for (const { hit } of tried) if (hit) steps.add(hit.step);
  return [...steps];
}

const markdown = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const [head = [], ...body] = rows;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...body.map(line)];
};

function rowOf(name: string, tried: readonly Tried[]): readonly string[] {
  const cells = disturbances.map((each) =>
    String(tried.filter(({ point }) => point?.disturbance === each).length),
  );
  const bad = tried.filter(({ findings }) => findings.length > 0).length;
  return [name, ...cells, String(bad)];
}

const placeOf = ({ point, hit }: Tried): string =>
  point
    ? `message ${point.n}, ${heads[point.disturbance]} (${hit ? `${hit.step}, from the ${hit.from}` : 'not reached'})`
    : 'undisturbed';

/** The table of a sweep, and a line for each finding. */
export function sweepTable(swept: Swept): string {
  const { machine, story, messages, tried } = swept;
  const points = tried.filter(({ point }) => point);
  const reached = points.filter(({ hit }) => hit);
  const bad = tried.filter(({ findings }) => findings.length > 0);
  const rows = [
    ['at a message of', ...disturbances.map((each) => heads[each]), 'broken promises'],
    ...stepsOf(swept).map((step) =>
      rowOf(
        step,
        reached.filter(({ hit }) => hit?.step === step),
      ),
    ),
    rowOf('all', reached),
  ];
  const findings = bad.flatMap((each) => [
    placeOf(each),
    ...each.findings.map((finding) => `  ${finding}`),
  ]);
  return [
    `${machine}: ${story}`,
    `${messages} messages between the service and Postgres; ${points.length} points tried, ` +
      `${points.length - reached.length} of them not reached.`,
    '',
    ...markdown(rows),
    '',
    bad.length === 0
      ? 'Every promise held at every point.'
      : `Promises were broken at ${bad.length} points:`,
    ...findings,
  ].join('\n');
}
