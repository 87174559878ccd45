// The kernel's drain of no-op deliveries beside plain loops over the same table without triggers,
// fence, guards, ordered locks and journal. Figures are ratios of one run: machines are noisy.

import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type pg from 'pg';
import { v7 as newId } from 'uuid';
import { outbox } from '../machines/outbox.ts';
import { claim } from '../persistence/claims.ts';
import { create } from '../persistence/create.ts';
import { sendMany } from '../persistence/door.ts';
import { transaction } from '../persistence/transaction.ts';
import { type BenchServer, openBenchServer } from './postgres.ts';

const rows = Number(process.env['BENCH_ROWS'] ?? 100_000);
const batch = 500;

export interface Figure {
  readonly name: string;
  readonly perSecond: number;
  readonly walBytes: number;
  readonly deadRows: number;
}

const plainTable = `
  drop schema if exists plain cascade;
  create schema plain
    create table delivery (like fencepost.delivery including all)`;

const plainClaim = {
  name: 'plain claim',
  text: `update plain.delivery r set status = 'processing', attempts = r.attempts + 1,
      lease_owner = $1, lease_expires_at = clock_timestamp() + interval '5 minutes'
    where id = any(array(select id from plain.delivery where status = 'pending' and channel = 'email'
        and next_attempt_at <= statement_timestamp()
      order by next_attempt_at limit $2 for no key update skip locked))
    returning id, attempts, channel, recipient, payload, message_key`,
};
const plainComplete = {
  name: 'plain complete',
  text: `update plain.delivery r set status = 'sent', finished_at = clock_timestamp(),
      lease_owner = null, lease_expires_at = null
    from unnest($1::uuid[], $2::int4[]) as e(id, fence)
    where r.id = e.id and r.attempts = e.fence and r.status = 'processing' returning r.id`,
};

const delivery = (i: number) => ({
  channel: 'email',
  recipient: `reader-${i}@example.com`,
  payload: JSON.stringify({ subject: 'Hello', body: 'It survived.'.repeat(10) }),
  message_key: `<${i}@fencepost.local>`,
});

async function fill(server: BenchServer, table: 'plain.delivery' | 'fencepost.delivery') {
  const { database } = server;
  if (table === 'plain.delivery') {
    await server.pool.query(plainTable);
    await sql
      .raw(
        `insert into plain.delivery (id, definition, channel, recipient, payload, message_key)
       select gen_random_uuid(), 1, 'email', 'reader-' || i || '@example.com',
         '{"subject":"Hello","body":"${'It survived.'.repeat(10)}"}', '<' || i || '@fencepost.local>'
       from generate_series(1, ${rows}) i`,
      )
      .execute(database.db);
  } else {
    for (let i = 0; i < rows; i += 5000) {
      const part = Array.from({ length: Math.min(5000, rows - i) }, (_, j) => delivery(i + j));
      await transaction(database, (tx) => create(tx, outbox, part));
    }
  }
  await sql.raw(`vacuum analyze ${table}`).execute(database.db);
  await sql`checkpoint`.execute(database.db);
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
  // The counters of dead rows are sent at the end of a backend's transaction, at most once a second.
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

const inParallel = async (loops: number, loop: () => Promise<number>) =>
  (await Promise.all(Array.from({ length: loops }, loop))).reduce((a, b) => a + b, 0);

function plainLoop(pool: pg.Pool, limit: number) {
  return async () => {
    const client = await pool.connect();
    try {
      for (let moved = 0; ; ) {
        const claimed = await client.query({ ...plainClaim, values: ['bench', limit] });
        if (claimed.rows.length === 0) return moved;
        const ids = claimed.rows.map((row) => row.id);
        const fences = claimed.rows.map((row) => row.attempts);
        const { rowCount } = await client.query({ ...plainComplete, values: [ids, fences] });
        moved += rowCount ?? 0;
      }
    } finally {
      client.release();
    }
  };
}

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

async function insertRate(server: BenchServer, insert: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < 5; i += 1) await insert();
  await server.pool.query('checkpoint');
  const start = performance.now();
  const times = 100;
  for (let i = 0; i < times; i += 1) await insert();
  return (times * 1000) / ((performance.now() - start) / 1000);
}

async function inserts(server: BenchServer) {
  const thousand = Array.from({ length: 1000 }, (_, i) => delivery(i));
  await server.pool.query(plainTable);
  const plain = await insertRate(server, () =>
    server.pool.query({
      name: 'plain insert',
      text: `insert into plain.delivery (id, definition, channel, recipient, payload, message_key)
        select e.id, 1, e.channel, e.recipient, e.payload, e.message_key
        from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
          as e(id, channel, recipient, payload, message_key)`,
      values: [
        thousand.map(() => newId()),
        thousand.map((row) => row.channel),
        thousand.map((row) => row.recipient),
        thousand.map((row) => row.payload),
        thousand.map((row) => row.message_key),
      ],
    }),
  );
  const ours = await insertRate(server, () =>
    transaction(server.database, (tx) => create(tx, outbox, thousand)),
  );
  return { plain, ours };
}

const whole = (n: number) => Math.round(n).toLocaleString('en');

function line(figure: Figure, base: Figure): string {
  const ratio = (figure.perSecond / base.perSecond).toFixed(2);
  return `| ${figure.name} | ${whole(figure.perSecond)} | ${ratio} | ${whole(figure.walBytes)} | ${figure.deadRows.toFixed(2)} |`;
}

/** Runs the kernel's bench and returns its table, in Markdown. */
export async function kernelBench(): Promise<string> {
  const server = await openBenchServer();
  try {
    const figures: Figure[] = [];
    for (const loops of [1, 2]) {
      await fill(server, 'plain.delivery');
      figures.push(
        await measure(server, `(a) plain loop of 500, ${loops} at once`, 'plain.delivery', () =>
          inParallel(loops, plainLoop(server.pool, batch)),
        ),
      );
      await fill(server, 'fencepost.delivery');
      figures.push(
        await measure(server, `kernel, 500, ${loops} at once`, 'fencepost.delivery', () =>
          inParallel(loops, kernelLoop(server)),
        ),
      );
    }
    await fill(server, 'plain.delivery');
    figures.push(
      await measure(server, '(b) plain, one by one, 10 at once', 'plain.delivery', () =>
        inParallel(10, plainLoop(server.pool, 1)),
      ),
    );
    const [first] = figures;
    if (!first) return '';
    const { plain, ours } = await inserts(server);
    return [
      '| drain of no-op deliveries | a second | of (a) | WAL bytes a row | dead rows a row |',
      '|---|---:|---:|---:|---:|',
      ...figures.map((figure) => line(figure, first)),
      '',
      `Insert of 1,000 rows: plain ${whole(plain)} rows a second, kernel ${whole(ours)}: ${(ours / plain).toFixed(2)} of it.`,
    ].join('\n');
  } finally {
    await server.close();
  }
}
