// How fast plans are carried out: steps a second of the executor, claim included, beside
// hand-written transactions of the same statements over the same tables without triggers, fence,
// guards and journal. Each step writes one row.

import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { pino } from 'pino';
import { defaultLimits } from '../persistence/limits.ts';
import { transaction } from '../persistence/transaction.ts';
import { approve } from '../services/proposals/decide.ts';
import { openExecutor } from '../services/proposals/executor.ts';
import { noteWrite } from '../services/proposals/notes.ts';
import { newProposal, propose } from '../services/proposals/propose.ts';
import { toolRegistry } from '../services/proposals/tools.ts';
import { inParallel, median, whole } from './kernel.ts';
import { type BenchServer, openBenchServer } from './postgres.ts';

const rounds = 3;
const stepsInAll = Number(process.env['BENCH_STEPS'] ?? 1500);
const tools = toolRegistry([noteWrite]);

const plainTables = `
  drop schema if exists plain cascade;
  create schema plain
    create table proposal (like fencepost.proposal including all)
    create table proposal_step (like fencepost.proposal_step including all)
    create table proposal_receipt (like fencepost.proposal_receipt including all)
    create table note (like fencepost.note including all);
  insert into plain.proposal select * from fencepost.proposal where status = 'approved';
  insert into plain.proposal_step select s.* from fencepost.proposal_step s
    join plain.proposal p on p.id = s.proposal;
  vacuum analyze plain.proposal`;

const plain = {
  claim: {
    name: 'plain claim',
    text: `update plain.proposal set status = 'executing', fence = fence + 1, lease_owner = $2,
        lease_expires_at = clock_timestamp() + interval '2 minutes', executed_by = $3
      where id = $1 and status = 'approved' and expires_at > clock_timestamp()
      returning steps, fence`,
  },
  steps: {
    name: 'plain steps',
    text: 'select tool, arguments from plain.proposal_step where proposal = $1 order by index',
  },
  open: {
    name: 'plain open',
    text: `update plain.proposal set open_step = $2
      where id = $1 and status = 'executing' and fence = $3 and next_step = $2 and open_step is null`,
  },
  write: { name: 'plain write', text: 'insert into plain.note (id, text) values ($1, $2)' },
  close: {
    name: 'plain close',
    text: `update plain.proposal set open_step = null, next_step = next_step + 1,
        status = case when next_step + 1 = steps then 'executed' else 'executing' end,
        lease_expires_at = case when next_step + 1 < steps
          then clock_timestamp() + interval '2 minutes' end
      where id = $1 and status = 'executing' and fence = $3 and open_step = $2`,
  },
  receipt: {
    name: 'plain receipt',
    text: `insert into plain.proposal_receipt (proposal, index, outcome, output, fence)
      values ($1, $2, 'ok', $4, $3)`,
  },
};

async function within(client: pg.PoolClient, work: () => Promise<void>): Promise<void> {
  const { lockMs, statementMs, idleMs, transactionMs } = defaultLimits;
  await client.query(`begin; set local lock_timeout = ${lockMs};
    set local statement_timeout = ${statementMs};
    set local idle_in_transaction_session_timeout = ${idleMs};
    set local transaction_timeout = ${transactionMs}`);
  await work();
  await client.query('commit');
}

/** Carries out one plan by hand, and returns how many steps it had. */
async function plainRun(pool: pg.Pool, id: string): Promise<number> {
  const client = await pool.connect();
  try {
    let claimed = { steps: 0, fence: 0 };
    let steps: readonly { readonly arguments: string }[] = [];
    await within(client, async () => {
      [claimed] = (await client.query({ ...plain.claim, values: [id, 'bench', 'grace'] })).rows;
      steps = (await client.query({ ...plain.steps, values: [id] })).rows;
    });
    const { fence } = claimed;
    for (const [index, step] of steps.entries()) {
      await within(client, async () => {
        await client.query({ ...plain.open, values: [id, index, fence] });
        await client.query('savepoint tool');
        const note = JSON.parse(step.arguments);
        await client.query({ ...plain.write, values: [note.id, note.text] });
        await client.query({ ...plain.close, values: [id, index, fence] });
        const output = JSON.stringify({ id: note.id });
        await client.query({ ...plain.receipt, values: [id, index, fence, output] });
        await client.query('set constraints all immediate');
      });
    }
    return steps.length;
  } finally {
    client.release();
  }
}

/** Plans that are approved and wait to be executed. */
async function approvedPlans({ database }: BenchServer, count: number, length: number) {
  const ids: string[] = [];
  await transaction(database, async (tx) => {
    for (let i = 0; i < count; i += 1) {
      const steps = Array.from({ length }, (_, place) => ({
        tool: 'note.write',
        arguments: { id: randomUUID(), text: `step ${place}` },
      }));
      const plan = { ...newProposal.parse({ steps }), proposer: 'ada' };
      const proposed = await propose(tx, { tools, fourEyes: 'never' }, plan);
      if (proposed.outcome !== 'proposed') throw new Error('a plan was not proposed');
      const { id, planHash } = proposed;
      await approve(tx, { id, actor: 'grace', planHash });
      ids.push(id);
    }
  });
  return ids;
}

const perSecond = async (work: () => Promise<number>): Promise<number> => {
  const start = performance.now();
  const steps = await work();
  return steps / ((performance.now() - start) / 1000);
};

/** Takes the plans in turn, so many at once. */
function inTurn(ids: readonly string[], loops: number, run: (id: string) => Promise<number>) {
  const left = ids.values();
  return inParallel(loops, async () => {
    let steps = 0;
    for (const id of left) steps += await run(id);
    return steps;
  });
}

async function oursAndPlain(server: BenchServer, length: number, loops: number) {
  const count = Math.ceil(stepsInAll / length);
  const { database, pool } = server;
  const ids = await approvedPlans(server, count, length);
  await pool.query('vacuum analyze fencepost.proposal');
  for (const statement of plainTables.split(';\n')) await pool.query(statement);
  const waiting = new Map<string, () => void>();
  const executor = openExecutor({
    ...{ database, tools, limits: defaultLimits, toolMs: 15_000, leaseMs: 120_000 },
    concurrency: loops,
    log: pino({ enabled: false }),
    observe(event) {
      if (event.type === 'ended') waiting.get(event.proposal)?.();
    },
  });
  const ours = await perSecond(() =>
    inTurn(ids, loops, async (id) => {
      const ended = new Promise<void>((resolve) => waiting.set(id, resolve));
      const told = await executor.execute(id, 'grace');
      if (told.outcome !== 'started') throw new Error(`a plan is ${told.outcome}`);
      await ended;
      return length;
    }),
  );
  await executor.stop(0);
  const byHand = await perSecond(() => inTurn(ids, loops, (id) => plainRun(pool, id)));
  const { rows } = await pool.query(`select count(*)::int as n from fencepost.proposal
    where status <> 'executed'`);
  if (rows[0].n > 0) throw new Error(`${rows[0].n} plans were not executed`);
  return { ours, byHand };
}

async function line(server: BenchServer, length: number, loops: number): Promise<string> {
  const figures = [];
  for (let round = 0; round < rounds; round += 1) {
    figures.push(await oursAndPlain(server, length, loops));
  }
  const ratios = figures.map(({ ours, byHand }) => ours / byHand);
  const cells = [
    `${length} ${length === 1 ? 'step' : 'steps'}, ${loops} at once`,
    whole(median(figures.map(({ ours }) => ours))),
    whole(median(figures.map(({ byHand }) => byHand))),
    `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Runs the bench of plans and returns its table, in Markdown. */
export async function proposalsBench(): Promise<string> {
  const server = await openBenchServer();
  try {
    const lines: string[] = [];
    for (const length of [1, 10]) {
      for (const loops of [1, 10, 50]) lines.push(await line(server, length, loops));
    }
    return [
      `Medians of ${rounds} rounds of ${whole(stepsInAll)} steps; the ratio is of one round.`,
      '',
      '| plans of | steps a second | by hand | of it |',
      '|---|---:|---:|---:|',
      ...lines,
    ].join('\n');
  } finally {
    await server.close();
  }
}
