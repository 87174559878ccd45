// `npm run bench -- <name>`: runs a benchmark and prints its table. Results worth keeping go to
// bench/results.md, with the machine and the commit.

import { cpus } from 'node:os';
import { deliveriesBench, memoryBench } from './deliveries.ts';
import { documentsBench } from './documents.ts';
import { kernelBench } from './kernel.ts';
import { proposalsBench } from './proposals.ts';
import { sessionBench } from './session.ts';

const benches: Readonly<Record<string, () => Promise<string>>> = {
  kernel: kernelBench,
  deliveries: deliveriesBench,
  memory: memoryBench,
  documents: documentsBench,
  proposals: proposalsBench,
  session: sessionBench,
};

const [name = ''] = process.argv.slice(2);
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (bench) {
  const [cpu] = cpus();
  console.log(`${cpus().length} × ${cpu?.model}, Node ${process.version}\n`);
  console.log(await bench());
} else {
  console.error(`npm run bench -- <name>, one of: ${Object.keys(benches).join(', ')}`);
  process.exitCode = 1;
}
