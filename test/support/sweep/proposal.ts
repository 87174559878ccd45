// Proposals in the crash sweep: a preview, a plan of three steps, and one that fails at its second.
//
// - A plan that nobody had begun is carried out by whoever comes next; one that was begun is not.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Database } from '../../../persistence/database.ts';
import {
  approved,
  notes,
  planFindings,
  read,
  recovered,
  toolsWith,
  watched,
  writing,
} from '../plans.ts';
import { stepMutants } from '../step-mutants.ts';
import type { Scenario, Stage } from './scenario.ts';

const tools = toolsWith();
const three = () => ['one', 'two', 'three'].map((text) => writing(text));
const failing = () => [
  writing('before'),
  { tool: 'note.delete', arguments: { id: randomUUID() } },
  writing('never'),
];

/** What a preview has left behind. */
async function traces(database: Database, id: string): Promise<readonly string[]> {
  const { row, receipts } = await read(database, id);
  const isUntouched = row.status === 'approved' && row.fence === 0 && receipts.length === 0;
  const texts = [...(await notes(database)).values()];
  return [
    ...(isUntouched ? [] : [`a previewed plan is ${row.status}, with ${receipts.length} receipts`]),
    ...(texts.includes('previewed') ? ['a previewed note is written'] : []),
  ];
}

/** What a plan has become, beyond what holds of every plan. */
async function becoming(database: Database, id: string, mostSteps: number) {
  const { row } = await read(database, id);
  const isOver = row.status === 'executed' || row.status === 'failed';
  return [
    ...(isOver ? [] : [`a plan is ${row.status}`]),
    ...(row.next_step <= mostSteps ? [] : [`${row.next_step} steps of a failing plan are done`]),
  ];
}

async function prepare(database: Database, mutant?: string): Promise<Stage> {
  // The database would refuse to commit what the mutants do, and nothing would be left to be seen.
  if (mutant) {
    await sql`alter table fencepost.proposal disable trigger receipted`.execute(database.db);
  }
  const previewed = await approved(database, tools, [writing('previewed'), writing('previewed')]);
  const good = await approved(database, tools, three());
  const bad = await approved(database, tools, failing());
  const executor = watched(database, tools);
  return {
    args: [previewed, good, bad],
    async recover() {
      for (const id of [good, bad]) {
        await recovered(database, id);
        const { outcome } = await executor.execute(id, 'grace');
        if (outcome === 'started') await executor.ended(id);
      }
    },
    invariants: async () => [
      ...(await planFindings(database, good)),
      ...(await becoming(database, good, 3)),
      ...(await planFindings(database, bad)),
      ...(await becoming(database, bad, 1)),
      ...(await traces(database, previewed)),
    ],
    close: () => executor.stop(0),
  };
}

/** That the run is not locked is nothing that a crash shows. */
const isSeen = (mutant: string) => mutant !== 'the run is not locked while the tool runs';

export const proposalScenario: Scenario = {
  machine: 'proposal',
  story: 'a preview, a plan of three steps, and a plan that fails at its second step',
  child: join(import.meta.dirname, 'proposal.child.ts'),
  mutants: Object.keys(stepMutants).filter(isSeen),
  prepare,
};
