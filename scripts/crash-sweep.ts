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

const lanes = Number(process.env['CRASH_SWEEP_LANES'] ?? 4);

function progress(done: number, all: number): void {
  if (done % 50 === 0 || done === all) process.stderr.write(`${done} of ${all} points\n`);
}

async function walk(scenario: Scenario, count: number, mutant?: string): Promise<boolean> {
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

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { mutant: { type: 'string' } },
});
const [machine = '', count = 'all'] = positionals;
const scenario = scenarios.find((each) => each.machine === machine);
const isKnown = values.mutant === undefined || scenario?.mutants.includes(values.mutant);
const asked = count === 'all' ? Number.POSITIVE_INFINITY : Number(count);
if (scenario && isKnown && asked > 0 && lanes > 0) {
  process.exitCode = (await walk(scenario, asked, values.mutant)) ? 0 : 1;
} else {
  const names = scenarios.map(
    (each) =>
      `  ${each.machine}, with the mutants ${each.mutants.map((name) => `'${name}'`).join(', ')}`,
  );
  console.error(
    `npm run crash-sweep -- <machine> [<count>] [--mutant <name>]\n${names.join('\n')}`,
  );
  process.exitCode = 1;
}
