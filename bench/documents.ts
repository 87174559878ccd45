// Saves of documents over HTTP, with history and receipts, beside the bare minimum: node:http and
// one conditional UPDATE, and that UPDATE alone. Servers run in processes of their own; what sends
// the saves is the same for all of them.
//
// - Each client has documents of its own, so that every save is accepted: conflicts are no work.
// - Left out: a peer with its own database format (CouchDB's), which would need a lockfile of its
//   own here.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { Pool } from 'undici';
import { transaction } from '../persistence/transaction.ts';
import { createDocument } from '../services/documents/documents.ts';
import { median, whole } from './kernel.ts';
import { plainDocuments, plainSave } from './plain-documents.ts';
import { type BenchServer, openBenchServer } from './postgres.ts';

const clients = 16;
const documents = 50;
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
const savesPerRound = Number(process.env['BENCH_SAVES'] ?? 6000);

/** A sheet of about 10 kB, another one for each save. */
function content(save: number) {
  const cells = Array.from({ length: 500 }, (_, i) => [`A${i + 1}`, `value ${i * save}`]);
  return { cells: Object.fromEntries(cells) as Record<string, string> };
}
const contents = Array.from({ length: 20 }, (_, i) => content(i + 100_000));

interface Document {
  readonly id: string;
  version: number;
}

/** Saves a content and returns the document's version afterwards. */
type SaveOne = (document: Document, content: object) => Promise<number>;

interface Contestant {
  readonly name: string;
  readonly save: SaveOne;
  readonly documents: readonly Document[];
  close(): Promise<void>;
}

async function startServer(url: string, which: 'bare' | 'ours') {
  const script = join(import.meta.dirname, 'documents-server.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, which], {
    env: { PATH: process.env['PATH'], DATABASE_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const [, port, token] = String(line).split(' ');
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: clients, pipelining: 1 });
  const save: SaveOne = async (document, given) => {
    const body = {
      saveId: randomUUID(),
      writer: '9b2d7d0e-2b3a-4a57-9b45-3f0d1c1f7a10',
      expectedVersion: document.version,
      content: given,
    };
    const answer = await pool.request({
      method: 'PUT',
      path: `/v1/documents/${document.id}`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    const read = (await answer.body.json()) as { currentVersion?: number };
    if (answer.statusCode !== 200 || read.currentVersion === undefined) {
      throw new Error(`${which}: ${answer.statusCode} ${JSON.stringify(read)}`);
    }
    return read.currentVersion;
  };
  return {
    save,
    async close() {
      await pool.close();
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

async function contestants({ url, database, pool }: BenchServer): Promise<readonly Contestant[]> {
  await pool.query(plainDocuments);
  const plain = Array.from({ length: documents }, () => ({ id: randomUUID(), version: 1 }));
  for (const { id } of plain) {
    const first = JSON.stringify(contents[0]);
    await pool.query('insert into plain_document values ($1, 1, $2)', [id, first]);
  }
  const ours: Document[] = [];
  for (let i = 0; i < documents; i += 1) {
    const given = { kind: 'spreadsheet', name: `sheet ${i}`, content: contents[0], actor: 'bench' };
    const made = await transaction(database, (tx) => createDocument(tx, given));
    if (made.outcome !== 'created') throw new Error(made.outcome);
    ours.push({ id: made.document.id, version: 1 });
  }
  const alone = new pg.Pool({ connectionString: url, max: clients });
  const update: SaveOne = async (document, given) => {
    const values = [document.id, document.version, JSON.stringify(given)];
    const { rows } = await alone.query({ ...plainSave, values });
    return rows[0].version;
  };
  const [bare, service] = [await startServer(url, 'bare'), await startServer(url, 'ours')];
  return [
    {
      name: 'conditional UPDATE alone, by pg',
      save: update,
      documents: plain,
      close: () => alone.end(),
    },
    { name: 'bare node:http + pg', documents: plain, ...bare },
    { name: 'documents of this service', documents: ours, ...service },
  ];
}

interface Figure {
  readonly perSecond: number;
  readonly p99Ms: number;
}

async function measure({ save, documents: all }: Contestant, saves: number): Promise<Figure> {
  const taken: number[] = [];
  let sent = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const mine = all.filter((_, i) => i % clients === client);
      for (let turn = 0; sent < saves; turn += 1) {
        const document = mine[turn % mine.length];
        if (!document) return;
        sent += 1;
        const at = performance.now();
        document.version = await save(document, contents[turn % contents.length] ?? {});
        taken.push(performance.now() - at);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const sorted = taken.toSorted((a, b) => a - b);
  const p99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  return { perSecond: taken.length / seconds, p99Ms };
}

/** Runs the bench of documents and returns its table, in Markdown. */
export async function documentsBench(): Promise<string> {
  const server = await openBenchServer();
  try {
    const all = await contestants(server);
    const figures = new Map(all.map(({ name }) => [name, [] as Figure[]]));
    // The first round is not counted: code that runs for the first time is slow everywhere.
    for (let round = 0; round <= rounds; round += 1) {
      for (const each of all) {
        const figure = await measure(each, round === 0 ? savesPerRound / 4 : savesPerRound);
        if (round > 0) figures.get(each.name)?.push(figure);
      }
    }
    for (const { close } of all) await close();
    const bare = figures.get('bare node:http + pg') ?? [];
    const lines = [...figures].map(([name, mine]) => {
      const ratios = mine.map(({ perSecond }, i) => perSecond / (bare[i]?.perSecond ?? 1));
      const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
      const rate = whole(median(mine.map(({ perSecond }) => perSecond)));
      const p99 = median(mine.map(({ p99Ms }) => p99Ms)).toFixed(1);
      return `| ${name} | ${rate} | ${p99} | ${median(ratios).toFixed(2)} (${range}) |`;
    });
    return [
      `${documents} documents of 10 kB, ${clients} clients; medians of ${rounds} rounds of`,
      `${whole(savesPerRound)} saves that take turns; ratios within a round.`,
      '',
      '| | saves a second | p99, ms | of bare node:http + pg |',
      '|---|---:|---:|---:|',
      ...lines,
    ].join('\n');
  } finally {
    await server.close();
  }
}
