// What a claim costs while a channel, or a destination, has a heap of due deliveries and rests: no
// more than without them. Judged by the pages that Postgres looks at, never by the clock.
//
// - COOLED=all takes 300,000 deliveries instead of a sample.

import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { compile } from '../../../persistence/compile.ts';
import { coolDown } from '../../../persistence/cool-downs.ts';
import type { Database } from '../../../persistence/database.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { deliveryWork } from '../../../services/deliveries/worker.ts';
import type { RunsEvent } from '../../../services/runs/events.ts';
import { enqueue } from '../../support/deliveries.ts';
import { explain } from '../../support/explain.ts';
import { fresh } from '../../support/opened.ts';
import { keptLog, running } from '../../support/runs.ts';
import { signal } from '../../support/signal.ts';

const isWhole = process.env['COOLED'] === 'all';
const inChannel = isWhole ? 300_000 : 30_000;
const atDestination = isWhole ? 300_000 : 5_000;
const open = 200;
const limit = 100;
const minutes = 60_000;
const limitMs = isWhole ? 10 * minutes : minutes;
const patient = {
  limits: {
    lockMs: minutes,
    statementMs: minutes,
    idleMs: 2 * minutes,
    transactionMs: 3 * minutes,
  },
};

const claimed = compile(outbox, 'claim', { selector: 'claim', where: ['channel'] });

/** What a claim of mails does, which is rolled back. */
const claimOfMails = (database: Database) =>
  explain(database, {
    statement: claimed,
    values(parameter) {
      if (parameter.from === 'limit') return limit;
      if (parameter.from === 'where') return 'email';
      return 'name' in parameter && parameter.name === 'lease_ms' ? 60_000 : 'worker';
    },
  });

interface Heap {
  readonly count: number;
  readonly channel: string;
  readonly recipient: string;
  /** Due for longer than all others, or not due at all. */
  readonly due: 'first' | 'tomorrow';
}

/** A database with a heap of deliveries, and some others that are due. */
async function withHeap({ count, channel, recipient, due }: Heap): Promise<Database> {
  const database = await fresh(patient);
  const days = due === 'first' ? -1 : 1;
  await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`
      insert into fencepost.delivery (id, definition, channel, recipient, payload, message_key,
        next_attempt_at)
      select gen_random_uuid(), 1, ${channel}, ${recipient}, '{}', 'key',
        now() + ${days}::int4 * interval '1 day' + n * interval '1 microsecond'
      from generate_series(1, ${count}::int4) n`.execute(tx);
  });
  await enqueue(database, open, { recipient: 'ada@fast.com' });
  await sql`analyze fencepost.delivery`.execute(database.db);
  return database;
}

const counts = async ({ db }: Database) => {
  const { rows } = await sql<{ recipient: string; status: string; attempts: number; n: number }>`
    select recipient, status, attempts, count(*) as n from fencepost.delivery
    group by 1, 2, 3 order by 1, 2, 3`.execute(db);
  return rows;
};

/** Up to twice: an index that was written to is deeper and looser. A look at the heap is beyond. */
const hardlyMoreThan = (pages: number): number => pages * 2 + 50;

it(
  `a claim does not look at ${inChannel} due deliveries of a channel that rests`,
  async () => {
    const heap = { count: inChannel, channel: 'webhook', recipient: 'https://slow.com/' };
    const beside = await claimOfMails(await withHeap({ ...heap, due: 'tomorrow' }));
    const behind = await claimOfMails(await withHeap({ ...heap, due: 'first' }));
    expect([beside.rows, behind.rows]).toEqual([limit, limit]);
    expect(behind.access, behind.text).toContain('delivery_due');
    expect(behind.access, behind.text).not.toContain('Seq Scan');
    expect(behind.pages, behind.text).toBeLessThanOrEqual(hardlyMoreThan(beside.pages));
  },
  limitMs,
);

it(
  `${atDestination} due deliveries to a destination that rests are put off once`,
  async () => {
    const heap = { count: atDestination, channel: 'email', recipient: 'bob@slow.com' };
    const beside = await claimOfMails(await withHeap({ ...heap, due: 'tomorrow' }));
    const database = await withHeap({ ...heap, due: 'first' });
    const among = await claimOfMails(database);
    expect(among.rows).toBe(limit);
    expect(among.pages, among.text).toBeLessThanOrEqual(hardlyMoreThan(beside.pages));

    const given = { channel: 'email', destination: 'slow.com', ms: 3_600_000, reason: 'no' };
    await transaction(database, (tx) => coolDown(tx, given));
    const sent: string[] = [];
    const work = deliveryWork({
      database,
      log: keptLog().log,
      channel: {
        name: 'email',
        effect: 'at-least-once',
        destinationOf: (recipient) => recipient.split('@')[1] ?? '',
        async send({ recipient }) {
          sent.push(recipient);
          return { result: 'sent', receipt: {} };
        },
      },
    });
    // A recorder would look through all events at each of hundreds of thousands.
    const over = signal();
    let ended = 0;
    const observe = ({ type }: RunsEvent) => {
      if (type === 'ended') ended += 1;
      if (ended === atDestination + open) over.give();
    };
    const pace = { concurrency: 20, batch: 500 };
    const { runs } = await running(database, work, { pace, observe });
    await over.given;
    await runs.stop(minutes);
    expect(new Set(sent)).toEqual(new Set(['ada@fast.com']));
    expect(await counts(database)).toEqual([
      { recipient: 'ada@fast.com', status: 'sent', attempts: 1, n: open },
      { recipient: 'bob@slow.com', status: 'pending', attempts: 1, n: atDestination },
    ]);

    // All of them wait now, and what they were in the index is dead.
    await enqueue(database, open, { recipient: 'ada@fast.com' });
    await claimOfMails(database);
    const later = await claimOfMails(database);
    expect(later.rows).toBe(limit);
    expect(later.access, later.text).toContain('delivery_due');
    expect(later.pages, later.text).toBeLessThanOrEqual(hardlyMoreThan(beside.pages));
  },
  limitMs,
);
