// `npm run crash-sweep -- <machine>`: disturbs a machine's work at every message between the
// service and Postgres, recovers, and prints what was tried and which promises were broken.
// `npm run crash-sweep -- <machine> <count>`: tries so many points of all, evenly spread.
// `npm run crash-sweep -- <machine> [<count>] --mutant '<name>'`: with a known bug, to see it
// found.
//
// It starts a Postgres of its own and needs minutes. The exit code is 0 only if every promise held.
// CRASH_SWEEP_LANES (4) says how many points are tried at once.

import { parseArgs } from 'node:util';
import { cloneTemplate } from '../test/support/database.ts';
import { scenarios } from '../test/support/sweep/all.ts';
import type { Scenario } from '../test/support/sweep/scenario.ts';
import { spread, sweepScenario } from '../test/support/sweep/sweep.ts';
import { sweepTable } from '../test/support/sweep/table.ts';
import { startThrowawayPostgres } from '../test/support/throwaway-postgres.ts';
import { isMistakenArgument } from './mistaken-arguments.ts';

const lanes = Number(process.env['CRASH_SWEEP_LANES'] ?? 4);

function progress(done: number, all: number): void {
  if (done % 50 === 0 || done === all) process.stderr.write(`${done} of ${all} points\n`);
}

async function walk({ scenario, count, mutant }: Order): Promise<boolean> {
  const server = await startThrowawayPostgres();
  try {
    const swept = await sweepScenario({
      scenario,
      mutant,
      lanes,
      clone: () => cloneTemplate(server.url),
      choose: (points) => spread(points, count),
      onTried: (_, done, all) => progress(done, all),
    });
    console.log(sweepTable(swept));
    return swept.tried.every(({ findings }) => findings.length === 0);
  } finally {
    await server.stop();
  }
}

interface Order {
  readonly scenario: Scenario;
  readonly count: number;
  readonly mutant: string | undefined;
}

/** What is asked for, or undefined where there is no such thing. */
function read(args: readonly string[]): Order | undefined {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { mutant: { type: 'string' } },
  });
  const [machine = '', all = 'all', ...more] = positionals;
  const scenario = scenarios.find((each) => each.machine === machine);
  const count = all === 'all' ? Number.POSITIVE_INFINITY : Number(all);
  const { mutant } = values;
  const isKnown = mutant === undefined || scenario?.mutants.includes(mutant);
  if (!scenario || !isKnown || !(count > 0) || more.length > 0) return undefined;
  return { scenario, count, mutant };
}

const usage = `npm run crash-sweep -- <machine> [<count>] [--mutant <name>]
${scenarios
  .map(
    ({ machine, mutants }) =>
      `  ${machine}, with the mutants ${mutants.map((name) => `'${name}'`).join(', ')}`,
  )
  .join('\n')}`;

function readOrExplain(): Order | undefined {
  try {
    const order = read(process.argv.slice(2));
    if (!order) console.error(usage);
    return order;
  } catch (error) {
    if (!isMistakenArgument(error)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    return undefined;
  }
}

const order = readOrExplain();
if (lanes > 0) {
  process.exitCode = order && (await walk(order)) ? 0 : 1;
} else {
  console.error('CRASH_SWEEP_LANES is how many points are tried at once: 1 or more');
  process.exitCode = 1;
}
