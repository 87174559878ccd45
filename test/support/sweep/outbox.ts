// The outbox in the crash sweep: five webhooks to two receivers, through the real worker and the
// real channel.
//
// - The receivers keep what they heard and what they answered; rows are held against that.
// - One accepts at once, twice; one only the second time; one is gone for good; one is busy at
//   first, so that its end writes a cool-down beside itself.

import { join } from 'node:path';
import { sql } from 'kysely';
import { outbox } from '../../../machines/outbox.ts';
import { sweep } from '../../../persistence/claims.ts';
import { create } from '../../../persistence/create.ts';
import type { Database } from '../../../persistence/database.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { answer, openHttpSink } from '../http-sink.ts';
import { startWorker, type Worker } from './outbox-worker.ts';
import type { Scenario, Stage } from './scenario.ts';

interface Heard {
  readonly key: string;
  readonly status: number;
}

/** What a path answers to a message that it hears for the nth time. */
const answers: Readonly<Record<string, (time: number) => number>> = {
  '/good': () => 200,
  '/flaky': (time) => (time === 1 ? 500 : 200),
  '/gone': () => 410,
  '/busy': (time) => (time === 1 ? 429 : 200),
};

async function openReceiver(heard: Heard[]) {
  return await openHttpSink({
    onRequest(socket, { line, headers }) {
      const [, path = ''] = line.split(' ');
      const key = headers['webhook-id'] ?? '';
      const time = heard.filter((each) => each.key === key).length + 1;
      const status = answers[path]?.(time) ?? 404;
      heard.push({ key, status });
      socket.end(answer(status));
    },
  });
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly recipient: string;
  readonly message_key: string;
  readonly attempts: number;
  readonly failures: number;
  readonly lease_losses: number;
  readonly receipt: unknown;
}

async function read({ db }: Database) {
  const rows = await sql<Row>`
    select id, status, recipient, message_key, attempts, failures, lease_losses, receipt
    from fencepost.delivery order by id`.execute(db);
  const journal = await sql<{ run: string; event: string; from: string; to: string }>`
    select run, event, from_status as "from", to_status as "to"
    from fencepost.journal where machine = 'outbox' order by run, seq`.execute(db);
  const cooled = await sql<{ destination: string }>`
    select destination from fencepost.cool_down`.execute(db);
  const poison = await sql<{ run: string }>`select run from fencepost.quarantine`.execute(db);
  return {
    rows: rows.rows,
    journal: journal.rows,
    cooled: new Set(cooled.rows.map(({ destination }) => destination)),
    poison: poison.rows,
  };
}

type Entry = Awaited<ReturnType<typeof read>>['journal'][number];

/** What of a row and its journal does not go together. */
function againstJournal(row: Row, entries: readonly Entry[]): readonly string[] {
  const count = (event: string) => entries.filter((entry) => entry.event === event).length;
  const chain = ['pending', ...entries.map(({ to }) => to)];
  const facts: readonly (readonly [boolean, string])[] = [
    [entries.every(({ from }, i) => from === chain[i]), 'its journal has a gap'],
    [chain.at(-1) === row.status, `its journal ends with ${chain.at(-1)}`],
    [count('claim') === row.attempts, `${count('claim')} claims are in its journal`],
    [count('fail') === row.failures, `${count('fail')} failures are in its journal`],
    [count('lease.expired') === row.lease_losses, 'lapses are missing in its journal'],
  ];
  return facts.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise]));
}

/** What of a row and its receiver does not go together. */
function againstReceiver(row: Row, heard: readonly Heard[]): readonly string[] {
  const said = heard.filter(({ key }) => key === row.message_key).map(({ status }) => status);
  const accepted = said.filter((status) => status === 200).length;
  const refused = said.filter((status) => status === 500 || status === 410).length;
  const mayAccept = row.status === 'sent' ? 1 : 0;
  const facts: readonly (readonly [boolean, string])[] = [
    [said.length > 0, 'its receiver never heard of it'],
    [row.status !== 'sent' || accepted > 0, 'its receiver never accepted it'],
    [row.status !== 'failed' || said.includes(410), 'its receiver never refused it'],
    [row.status !== 'sent' || row.receipt !== null, 'it has no receipt'],
    [said.length <= row.attempts, `it was sent ${said.length} times`],
    [accepted <= mayAccept + row.lease_losses, `it was accepted ${accepted} times without need`],
    [row.failures <= refused, `only ${refused} refusals were said`],
  ];
  return facts.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise]));
}

async function brokenPromises(database: Database, heard: readonly Heard[]) {
  const { rows, journal, cooled, poison } = await read(database);
  const findings = poison.map(({ run }) => `${run} is in quarantine`);
  for (const row of rows) {
    const { id, status, recipient } = row;
    const entries = journal.filter(({ run }) => run === id);
    const { pathname, origin } = new URL(recipient);
    const broken = [...againstJournal(row, entries), ...againstReceiver(row, heard)];
    const expected = pathname === '/gone' ? 'failed' : 'sent';
    if (status !== expected) broken.push(`it did not become ${expected}`);
    // An end and what it says about others are one transaction.
    if (pathname === '/gone' && (status === 'failed') !== cooled.has(recipient)) {
      broken.push('its end and the rest of its recipient do not go together');
    }
    const wasPutOff = entries.some(({ event }) => event === 'throttle');
    if (pathname === '/busy' && wasPutOff !== cooled.has(origin)) {
      broken.push('its end and the rest of its origin do not go together');
    }
    const counts = `attempts ${row.attempts}, failures ${row.failures}, lapses ${row.lease_losses}`;
    findings.push(...broken.map((each) => `${pathname}, ${status}, ${counts}: ${each}`));
  }
  if (rows.length !== paths.length) findings.push(`${rows.length} rows of ${paths.length}`);
  return findings;
}

/** Makes everything older that somebody would have to wait for. @returns how many rows are live. */
async function age(database: Database): Promise<number> {
  return await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.cool_down set until = at where until < 'infinity'`.execute(tx);
    await sql`update fencepost.delivery set lease_expires_at = created_at
      where lease_expires_at is not null`.execute(tx);
    await sql`set local session_replication_role = origin`.execute(tx);
    await sweep(tx, outbox, 'lease.expired', { limit: 100 });
    await sql`set local session_replication_role = replica`.execute(tx);
    const { rows } = await sql`update fencepost.delivery set next_attempt_at = created_at
      where status in ('pending', 'processing') returning id`.execute(tx);
    return rows.length;
  });
}

const paths = ['/good', '/flaky', '/gone', '/busy', '/good'];
/** A retry after a refusal, and one after a wait, each at most once; and one to spare. */
const mostRounds = 4;

async function prepare(database: Database): Promise<Stage> {
  const heard: Heard[] = [];
  const calm = await openReceiver(heard);
  const busy = await openReceiver(heard);
  await transaction(database, (tx) =>
    create(
      tx,
      outbox,
      paths.map((path, i) => ({
        channel: 'webhook',
        recipient: `${path === '/busy' ? busy.url : calm.url}${path}`,
        payload: JSON.stringify({ data: i }),
        message_key: `msg_${i}`,
      })),
    ),
  );
  let worker: Worker | undefined;
  return {
    args: [],
    async recover() {
      for (let round = 0; round < mostRounds && (await age(database)) > 0; round += 1) {
        worker = startWorker(database, { onWake: () => () => undefined });
        await worker.idle;
      }
    },
    invariants: () => brokenPromises(database, heard),
    async close() {
      await worker?.runs.stop(0);
      await Promise.all([calm.close(), busy.close()]);
    },
  };
}

export const outboxScenario: Scenario = {
  machine: 'outbox',
  story: 'five webhooks: accepted at once (2), refused at first, gone for good, busy at first',
  child: join(import.meta.dirname, 'outbox.child.ts'),
  mutants: ['sent before it is sent', 'two commits'],
  prepare,
};
