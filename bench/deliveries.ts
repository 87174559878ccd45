// Deliveries from end to end, in processes of their own with the default configuration: how fast a
// worker drains what is due, what an enqueue costs, how long an idle worker takes to begin, and
// whether it keeps what it should let go of.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { outbox } from '../machines/outbox.ts';
import { create } from '../persistence/create.ts';
import { transaction } from '../persistence/transaction.ts';
import { inParallel, median, whole } from './kernel.ts';
import {
  delivery,
  empty,
  fill,
  plainClaim,
  plainInsert,
  plainLoop,
  plainTable,
  plainValues,
} from './plain.ts';
import { type BenchServer, openBenchServer } from './postgres.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

const rounds = 5;
const rows = Number(process.env['BENCH_ROWS'] ?? 100_000) / rounds;

/** Rows a second, by worker processes that begin together. */
async function drainBy(server: BenchServer, workers: readonly WorkerProcess[]): Promise<number> {
  await fill(server, 'fencepost.delivery', rows);
  const ended = workers.map(() => 0);
  const ends: (() => void)[] = [];
  const begun = performance.now();
  const seconds = await new Promise<number>((resolve) => {
    for (const [i, worker] of workers.entries()) {
      const look = ([word, count]: readonly string[]) => {
        if (word !== 'ended') return;
        ended[i] = Number(count);
        const all = ended.reduce((a, b) => a + b, 0);
        if (all >= rows) resolve((performance.now() - begun) / 1000);
      };
      ends.push(worker.onLine(look));
      worker.say('begin');
    }
  });
  for (const end of ends) end();
  await Promise.all(workers.map((worker) => worker.pause()));
  return rows / seconds;
}

async function drainPlain(server: BenchServer, loops: number): Promise<number> {
  await fill(server, 'plain.delivery', rows);
  const begun = performance.now();
  const moved = await inParallel(loops, plainLoop(server.pool, 500));
  return moved / ((performance.now() - begun) / 1000);
}

const singles = 2000;
const atOnce = 10;

/** Calls a second of single enqueues, ten at once. */
async function enqueueRate(work: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const begun = performance.now();
  await inParallel(atOnce, async () => {
    let done = 0;
    for (let i = next++; i < singles; i = next++) {
      await work(i);
      done += 1;
    }
    return done;
  });
  return singles / ((performance.now() - begun) / 1000);
}

const enqueue = ({ database }: BenchServer, i: number) =>
  transaction(database, (tx) => create(tx, outbox, [delivery(i)]), { single: true });

const insertPlain = ({ pool }: BenchServer, i: number) =>
  pool.query({ ...plainInsert, values: plainValues([delivery(i)]) });

async function roundOf(server: BenchServer, workers: readonly WorkerProcess[]) {
  const figures = {
    plain: await drainPlain(server, 1),
    one: await drainBy(server, workers.slice(0, 1)),
    two: await drainBy(server, workers),
  };
  await server.pool.query(plainTable);
  const inserts = await enqueueRate((i) => insertPlain(server, i));
  const enqueues = await enqueueRate((i) => enqueue(server, i));
  return { ...figures, inserts, enqueues };
}

const enqueuesWatched = 300;
const apartMs = 50;

/** Milliseconds from before an enqueue to the begin of its handler in another, idle process. */
async function latencies(server: BenchServer): Promise<readonly number[]> {
  await empty(server.pool);
  const worker: WorkerProcess = await startWorkerProcess(server.url, { BENCH_LATENCY: '1' });
  const begun = new Map<string, bigint>();
  const taken: number[] = [];
  worker.say('begin');
  await worker.next('waiting');
  const all = new Promise<void>((resolve) => {
    worker.onLine(([word, at = '0', key = '']) => {
      const since = begun.get(key);
      if (word !== 'started' || since === undefined) return;
      taken.push(Number(BigInt(at) - since) / 1e6);
      if (taken.length === enqueuesWatched) resolve();
    });
  });
  for (let i = 0; i < enqueuesWatched; i += 1) {
    const row = delivery(i);
    begun.set(row.message_key, process.hrtime.bigint());
    await transaction(server.database, (tx) => create(tx, outbox, [row]), { single: true });
    await pause(apartMs);
  }
  await all;
  await worker.stop();
  return taken.toSorted((a, b) => a - b);
}

/** The same by hand: an insert, a NOTIFY, and a claim by whoever listens, in one process. */
async function plainLatencies({ url, pool }: BenchServer): Promise<readonly number[]> {
  await pool.query(plainTable);
  const listener = new pg.Client({ connectionString: url });
  await listener.connect();
  await listener.query('listen plain_due');
  const taken: number[] = [];
  for (let i = 0; i < enqueuesWatched; i += 1) {
    const begun = performance.now();
    const woken = once(listener, 'notification');
    await pool.query({ ...plainInsert, values: plainValues([delivery(i)]) });
    await pool.query(`notify plain_due`);
    await woken;
    const { rowCount } = await pool.query({ ...plainClaim, values: ['bench', 1] });
    if (rowCount !== 1) throw new Error('nothing was claimed');
    taken.push(performance.now() - begun);
    await pause(apartMs);
  }
  await listener.end();
  return taken.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);

type Round = Awaited<ReturnType<typeof roundOf>>;

function line(name: string, rounds: readonly Round[], what: keyof Round, base: keyof Round) {
  const ratios = rounds.map((round) => round[what] / round[base]);
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  const rate = whole(median(rounds.map((round) => round[what])));
  return `| ${name} | ${rate} | ${median(ratios).toFixed(2)} (${range}) |`;
}

/** Runs the bench of deliveries and returns its table, in Markdown. */
export async function deliveriesBench(): Promise<string> {
  const server = await openBenchServer();
  try {
    const [one, two] = [startWorkerProcess(server.url), startWorkerProcess(server.url)];
    const workers = [await one, await two];
    // The first round is not counted: code that runs for the first time is slow everywhere.
    await roundOf(server, workers);
    const done: Round[] = [];
    for (let i = 0; i < rounds; i += 1) done.push(await roundOf(server, workers));
    for (const worker of workers) {
      worker.say('begin');
      await worker.stop();
    }
    const watched = await latencies(server);
    const byHand = await plainLatencies(server);
    return [
      `Medians of ${rounds} rounds of ${whole(rows)} rows that take turns; ratios within a round.`,
      '',
      '| | a second | ratio |',
      '|---|---:|---:|',
      line('(a) plain loop of 500', done, 'plain', 'plain'),
      line('one worker process, of (a)', done, 'one', 'plain'),
      line('two worker processes, of one', done, 'two', 'one'),
      line('plain insert, 10 at once', done, 'inserts', 'inserts'),
      line('enqueue, 10 at once, of a plain insert', done, 'enqueues', 'inserts'),
      '',
      `Idle, ${enqueuesWatched} enqueues ${apartMs} ms apart: from enqueue to handler`,
      `p50 ${at(watched, 0.5)} ms, p99 ${at(watched, 0.99)} ms; by hand, in one process,`,
      `p50 ${at(byHand, 0.5)} ms, p99 ${at(byHand, 0.99)} ms.`,
    ].join('\n');
  } finally {
    await server.close();
  }
}

const soaked = Number(process.env['BENCH_ROWS'] ?? 500_000);
const pieces = 10;

/** Drains many deliveries with one worker, and looks at its memory after each tenth of them. */
export async function memoryBench(): Promise<string> {
  const server = await openBenchServer();
  try {
    await fill(server, 'fencepost.delivery', 0);
    const worker = await startWorkerProcess(server.url);
    worker.say('begin');
    await worker.next('waiting');
    const lines: string[] = [];
    for (let piece = 1; piece <= pieces; piece += 1) {
      const target = (soaked / pieces) * piece;
      const reached = new Promise<void>((resolve) => {
        worker.onLine(([word, count]) => {
          if (word === 'ended' && Number(count) >= target) resolve();
        });
      });
      for (let i = 0; i < soaked / pieces; i += 1000) {
        const part = Array.from({ length: 1000 }, (_, j) => delivery(i + j));
        await transaction(server.database, (tx) => create(tx, outbox, part));
      }
      await reached;
      worker.say('memory');
      const [, ended, heap, rss, cpu] = await worker.next('memory');
      const megabytes = (bytes = '') => (Number(bytes) / 2 ** 20).toFixed(1);
      const micros = (Number(cpu) / Number(ended)).toFixed(0);
      lines.push(
        `| ${whole(Number(ended))} | ${megabytes(heap)} | ${megabytes(rss)} | ${micros} |`,
      );
    }
    await worker.stop();
    const head = ['| deliveries | heap, MB | RSS, MB | CPU, µs each |', '|---:|---:|---:|---:|'];
    return [...head, ...lines].join('\n');
  } finally {
    await server.close();
  }
}
