// Branch operations in the crash sweep: two resets by the real workers, against the fake Neon,
// which lives here and knows what it accepted.
//
// - The answer to the first call is lost, though it was accepted; the second one is refused at
//   first.

import { join } from 'node:path';
import { sql } from 'kysely';
import type { Database } from '../../../persistence/database.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { enqueueChange } from '../../../services/operations/request.ts';
import { type FakeNeon, openFakeNeon, ownError } from '../fake-neon.ts';
import { accountProvider, type OperationWorkers, startOperationWorkers } from './dbops-worker.ts';
import type { Scenario, Stage } from './scenario.ts';

const branches = ['lost', 'locked'];

interface Row {
  readonly id: string;
  readonly status: string;
  readonly branch: string;
  readonly outcome: string | null;
  readonly operations: readonly { readonly id: string; readonly status: string }[] | null;
}

interface Entry {
  readonly run: string;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

async function read({ db }: Database) {
  const rows = await sql<Row>`
    select id, status, target as branch, outcome, operations
    from fencepost.operation order by id`.execute(db);
  const journal = await sql<Entry>`
    select run, event, from_status as "from", to_status as "to"
    from fencepost.journal where machine = 'dbops' order by run, seq`.execute(db);
  return { rows: rows.rows, journal: journal.rows };
}

/** What of an operation goes against its journal, or against what the fake knows. */
function broken(row: Row, entries: readonly Entry[], fake: FakeNeon): readonly string[] {
  const ofBranch = ({ branch }: { readonly branch: string | undefined }) => branch === row.branch;
  const calls = fake.journal.filter(({ kind }) => kind === 'restore').filter(ofBranch);
  const issued = fake.issued().filter(ofBranch).length;
  const intents = entries.filter(({ event }) => event === 'intend').length;
  const chain = ['queued', ...entries.map(({ to }) => to)];
  const isKnown = row.operations?.every(({ status }) => status === 'finished') ?? false;
  const facts: readonly (readonly [boolean, string])[] = [
    [issued <= 1, `it was accepted, or may have been, ${issued} times`],
    [calls.length <= intents, `${calls.length} calls were made by ${intents} intents`],
    [row.status === 'succeeded' || row.status === 'failed', 'it has not ended'],
    [row.outcome !== 'ok' || issued > 0, 'it succeeded, and nothing was accepted'],
    [row.outcome !== 'ok' || isKnown, 'it succeeded, and its operations have not finished'],
    [row.outcome !== 'unknown' || issued === 0, 'it is unknown, and what was accepted was there'],
    [row.outcome === 'ok' || row.outcome === 'unknown', 'that is not what became of it'],
    [entries.every(({ from }, i) => from === chain[i]), 'its journal has a gap'],
    [chain.at(-1) === row.status, `its journal ends with ${chain.at(-1)}`],
  ];
  return facts.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise]));
}

/** Makes everything older that somebody would have to wait for. @returns how many are live. */
async function age(database: Database): Promise<number> {
  return await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.operation set lease_expires_at = created_at, next_poll_at = null,
      settles_at = least(settles_at, created_at) where status = 'running'`.execute(tx);
    const { rows } = await sql`
      select from fencepost.operation where status in ('queued', 'running')`.execute(tx);
    return rows.length;
  });
}

/** One takeover each, and one to spare. */
const mostRounds = 3;

async function prepare(database: Database): Promise<Stage> {
  const fake = await openFakeNeon();
  const { url, key, project } = fake;
  const provider = accountProvider({ url, key, project });
  // An operation moves on when it is asked for, and nobody asks for one that was forgotten.
  fake.script = ['finished'];
  fake.rule('restore', 'lost');
  fake.rule('restore', { status: 423, body: ownError('locked') });
  fake.addBranch('main');
  for (const branch of branches) {
    fake.addBranch(branch, 'main');
    const change = { action: 'reset', branch } as const;
    const asking = { actor: 'ada', idempotencyKey: branch, change };
    await transaction(database, (tx) => enqueueChange(tx, provider, asking));
  }
  let workers: OperationWorkers | undefined;
  return {
    args: [JSON.stringify({ url, key, project })],
    async recover() {
      for (let round = 0; round < mostRounds && (await age(database)) > 0; round += 1) {
        workers = startOperationWorkers(database, { onWake: () => () => undefined }, provider);
        await workers.idle;
      }
    },
    async invariants() {
      const { rows, journal } = await read(database);
      const findings = rows.flatMap((row) => {
        const entries = journal.filter(({ run }) => run === row.id);
        const said = `${row.branch}, ${row.status}, ${row.outcome}`;
        return broken(row, entries, fake).map((each) => `${said}: ${each}`);
      });
      const isWhole = rows.length === branches.length;
      return isWhole ? findings : [...findings, `${rows.length} rows of ${branches.length}`];
    },
    async close() {
      await workers?.runs.stop(0);
      await fake.close();
    },
  };
}

export const dbopsScenario: Scenario = {
  machine: 'dbops',
  story: 'two resets on the fake Neon: the answer to one is lost, the other is refused at first',
  child: join(import.meta.dirname, 'dbops.child.ts'),
  mutants: ['the intent after the call'],
  prepare,
};
