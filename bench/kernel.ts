// The kernel's drain of no-op deliveries beside plain loops over the same table without triggers,
// fence, guards, ordered locks and journal. Figures are ratios of one run: machines are noisy.

import { setTimeout as pause } from 'node:timers/promises';
import { outbox } from '../machines/outbox.ts';
import { claim } from '../persistence/claims.ts';
import { create } from '../persistence/create.ts';
import { sendMany } from '../persistence/door.ts';
import { transaction } from '../persistence/transaction.ts';
import {
  delivery,
  fill,
  plainInsert,
  plainLoop,
  plainTable,
  plainValues,
  type Table,
} from './plain.ts';
import { type BenchServer, openBenchServer } from './postgres.ts';

// 100,000 rows in all for each contestant, in rounds that take turns: what slows the machine down
// for a while then slows all of them.
const rounds = 5;
const rows = Number(process.env['BENCH_ROWS'] ?? 100_000) / rounds;
const batch = 500;

interface Figure {
  readonly name: string;
  readonly perSecond: number;
  readonly walBytes: number;
  readonly deadRows: number;
}

async function measure(
  server: BenchServer,
  name: string,
  table: string,
  work: () => Promise<number>,
): Promise<Figure> {
  const { pool } = server;
  const lsn = async () =>
    Number((await pool.query(`select pg_current_wal_lsn() - '0/0'::pg_lsn as n`)).rows[0].n);
  const from = await lsn();
  const start = performance.now();
  const moved = await work();
  const seconds = (performance.now() - start) / 1000;
  const wal = (await lsn()) - from;
  // The counters of dead rows are sent at the end of a backend's transaction, at most once a
  // second.
  await pause(1500);
  const dead = await pool.query(
    'select n_dead_tup::int as n from pg_stat_user_tables where relid = to_regclass($1)',
    [table],
  );
  if (moved !== rows) throw new Error(`${name} moved ${moved} rows of ${rows}`);
  return {
    name,
    perSecond: moved / seconds,
    walBytes: wal / moved,
    deadRows: Number(dead.rows[0].n) / moved,
  };
}

export const inParallel = async (loops: number, loop: () => Promise<number>) =>
  (await Promise.all(Array.from({ length: loops }, loop))).reduce((a, b) => a + b, 0);

function kernelLoop({ database }: BenchServer) {
  return async () => {
    for (let moved = 0; ; ) {
      const runs = await transaction(database, (tx) =>
        claim(tx, outbox, 'claim', {
          limit: batch,
          where: { channel: 'email' },
          owner: 'bench',
          lease_ms: 300_000,
        }),
      );
      if (runs.length === 0) return moved;
      const outcomes = await transaction(database, (tx) =>
        sendMany(
          tx,
          outbox,
          'sent',
          runs.map((run) => ({ id: run.id, fence: run.attempts, receipt: null })),
        ),
      );
      moved += outcomes.filter((each) => each.outcome === 'applied').length;
    }
  };
}

/** Rows a second of two inserts of 1,000 rows that take turns. */
async function insertRates(inserts: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const times = 100;
  const ms = inserts.map(() => 0);
  for (let i = -5; i < times; i += 1) {
    for (const [which, insert] of inserts.entries()) {
      const start = performance.now();
      await insert();
      if (i >= 0) ms[which] = (ms[which] ?? 0) + performance.now() - start;
    }
  }
  return ms.map((each) => (times * 1000) / (each / 1000));
}

async function inserts(server: BenchServer) {
  const thousand = Array.from({ length: 1000 }, (_, i) => delivery(i));
  await server.pool.query(plainTable);
  const insertPlain = () => server.pool.query({ ...plainInsert, values: plainValues(thousand) });
  const insertOurs = () => transaction(server.database, (tx) => create(tx, outbox, thousand));
  const [plain = 0, ours = 0] = await insertRates([insertPlain, insertOurs]);
  return { plain, ours };
}

export const whole = (n: number) => Math.round(n).toLocaleString('en');

export const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

interface Contestant {
  readonly name: string;
  readonly table: Table;
  readonly work: () => Promise<number>;
}

function contestants(server: BenchServer): readonly Contestant[] {
  const plain = 'plain.delivery';
  const ours = 'fencepost.delivery';
  return [1, 2]
    .flatMap((loops): readonly Contestant[] => [
      {
        name: `(a) plain loop of 500, ${loops} at once`,
        table: plain,
        work: () => inParallel(loops, plainLoop(server.pool, batch)),
      },
      {
        name: `kernel, 500, ${loops} at once`,
        table: ours,
        work: () => inParallel(loops, kernelLoop(server)),
      },
    ])
    .concat([
      {
        name: '(b) plain, one by one, 10 at once',
        table: plain,
        work: () => inParallel(10, plainLoop(server.pool, 1)),
      },
    ]);
}

async function drains(server: BenchServer): Promise<ReadonlyMap<string, readonly Figure[]>> {
  const figures = new Map<string, Figure[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, table, work } of contestants(server)) {
      await fill(server, table, rows);
      const figure = await measure(server, name, table, work);
      figures.set(name, [...(figures.get(name) ?? []), figure]);
    }
  }
  return figures;
}

function line(name: string, figures: readonly Figure[], base: readonly Figure[]): string {
  const ratios = figures.map((figure, i) => figure.perSecond / (base[i]?.perSecond ?? Number.NaN));
  const cells = [
    name,
    whole(median(figures.map((figure) => figure.perSecond))),
    `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
    whole(median(figures.map((figure) => figure.walBytes))),
    median(figures.map((figure) => figure.deadRows)).toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Runs the kernel's bench and returns its table, in Markdown. */
export async function kernelBench(): Promise<string> {
  const server = await openBenchServer();
  try {
    const figures = await drains(server);
    const [base = []] = figures.values();
    const { plain, ours } = await inserts(server);
    return [
      `Medians of ${rounds} rounds of ${whole(rows)} rows; ratios to (a), 1 at once, of one round.`,
      '',
      '| drain of no-op deliveries | a second | of (a) | WAL bytes a row | dead rows a row |',
      '|---|---:|---:|---:|---:|',
      ...[...figures].map(([name, each]) => line(name, each, base)),
      '',
      `Insert of 1,000 rows: plain ${whole(plain)} rows a second, kernel ${whole(ours)}: ${(ours / plain).toFixed(2)} of it.`,
    ].join('\n');
  } finally {
    await server.close();
  }
}
