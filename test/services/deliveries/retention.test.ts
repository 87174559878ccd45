import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { coolDown } from '../../../persistence/cool-downs.ts';
import { openDatabase } from '../../../persistence/database.ts';
import { sendMany } from '../../../persistence/door.ts';
import { insertMail } from '../../../persistence/mailbox.ts';
import { finishedStatement } from '../../../persistence/retention.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { type RetentionOptions, startRetention } from '../../../services/deliveries/retention.ts';
import { claimed, empty, enqueue, force } from '../../support/deliveries.ts';
import { opened, useOpened } from '../../support/opened.ts';

const database = useOpened();
afterEach(() => empty(database()));

async function retention(options: Partial<RetentionOptions> = {}) {
  const log = pino({ enabled: false });
  const started = startRetention({ database: database(), log, ...options });
  onTestFinished(started.close);
  return started;
}

async function finished(status: string, days: number, changes = ''): Promise<string> {
  const [id = ''] = await enqueue(database());
  const at = `finished_at = now() - interval '${days} days' - interval '1 minute'`;
  await force(database(), id, `status = '${status}', ${at}${changes}`);
  return id;
}

const idsLeft = async () => {
  const rows = await database().db.selectFrom('fencepost.delivery').select('id').execute();
  return new Set(rows.map(({ id }) => id));
};

async function count(table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from ${sql.table(`fencepost.${table}`)}`.execute(database().db);
  return rows[0]?.count ?? -1;
}

describe('the retention of deliveries', () => {
  it('keeps each for as long as its status says', async () => {
    const old = [
      await finished('sent', 30),
      await finished('failed', 90),
      await finished('dead', 90),
    ];
    const young = [
      ...[await finished('sent', 29), await finished('failed', 89), await finished('dead', 89)],
      ...(await enqueue(database())),
    ];
    await (await retention()).runOnce();
    expect(await idsLeft()).toEqual(new Set(young));
    expect(old).toHaveLength(3);
  });

  it('goes on where one kind cannot be deleted, and says so', async () => {
    const [sent, failed] = [await finished('sent', 30), await finished('failed', 90)];
    const broken = new Error('it cannot be');
    const more = () => ({ sent: () => Promise.reject(broken) });
    const started = await retention({ more });
    await expect(started.runOnce()).rejects.toMatchObject({ errors: [broken] });
    const left = await idsLeft();
    expect([left.has(sent), left.has(failed)]).toEqual([true, false]);
  });

  it('keeps what is alive, however old', async () => {
    const [pending = '', processing = ''] = await enqueue(database(), 2);
    await force(database(), pending, "created_at = now() - interval '9 years'");
    const lease = "lease_owner = 'w', lease_expires_at = now(), attempts = 1";
    await force(database(), processing, `status = 'processing', ${lease}`);
    await (await retention({ days: { sent: 0, failed: 0, dead: 0 } })).runOnce();
    expect(await idsLeft()).toEqual(new Set([pending, processing]));
  });

  it('takes the journal along', async () => {
    await enqueue(database(), 3);
    const runs = await claimed(database());
    const rows = runs.map(({ id, attempts: fence }) => ({ id, fence, receipt: null }));
    await transaction(database(), (tx) => sendMany(tx, outbox, 'sent', rows));
    expect(await count('journal')).toBe(6);
    await (await retention({ days: { sent: 0 } })).runOnce();
    expect(await count('delivery')).toBe(0);
    expect(await count('journal')).toBe(0);
  });

  it('goes on batch by batch until nothing is left', async () => {
    const { runOnce } = await retention({ batch: 3 });
    await runOnce();
    for (let i = 0; i < 7; i += 1) await finished('dead', 90);
    const nothing = { sent: 0, failed: 0, lostWrites: 0, keptAnswers: 0, coolDowns: 0, mails: 0 };
    expect(await runOnce()).toEqual({ ...nothing, dead: 7 });
    expect(await count('delivery')).toBe(0);
  });

  it('is shared by several processes, and counts each row once', async () => {
    for (let i = 0; i < 40; i += 1) await finished('sent', 30);
    const one = await opened({ url: database().url, connections: 8 });
    const deletions = await Promise.all(
      Array.from({ length: 8 }, () =>
        transaction(one, async (tx) => {
          const bounds = { olderThanMs: 0, limit: 5 };
          return (await finishedStatement('sent', bounds).execute(tx)).numAffectedRows;
        }),
      ),
    );
    expect(deletions.reduce<bigint>((sum, each) => sum + (each ?? 0n), 0n)).toBe(
      40n - BigInt(await count('delivery')),
    );
  });

  it('passes over what somebody holds', async () => {
    const held = await finished('sent', 30);
    await finished('sent', 30);
    await transaction(database(), async (tx) => {
      await sql`select from fencepost.delivery where id = ${held} for no key update`.execute(tx);
      await (await retention()).runOnce();
    });
    expect(await idsLeft()).toEqual(new Set([held]));
  });

  it('keeps a redrive for as long as what it redrives', async () => {
    const old = await finished('dead', 80);
    const [redrive = ''] = await enqueue(database(), 1, { redrive_of: old });
    await force(database(), redrive, "status = 'sent', finished_at = now() - interval '79 days'");
    const { runOnce } = await retention();
    await runOnce();
    expect(await idsLeft()).toEqual(new Set([old, redrive]));
    await force(database(), old, "finished_at = now() - interval '91 days'");
    await runOnce();
    await runOnce();
    expect(await idsLeft()).toEqual(new Set());
  });

  it('finds what is over by the index, among many that are not', async () => {
    await transaction(database(), async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`insert into fencepost.delivery (id, status, definition, channel, recipient, payload,
          message_key, finished_at)
        select gen_random_uuid(), 'sent', 1, 'email', 'ada@example.org', '{}', 'key',
          now() - interval '1 day' * (n % 31)
        from generate_series(1, 20000) n`.execute(tx);
    });
    await sql`analyze fencepost.delivery`.execute(database().db);
    const bounds = { olderThanMs: 30 * 86_400_000, limit: 500 };
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain ${finishedStatement('sent', bounds)}`.execute(database().db);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('Index Scan using delivery_finished');
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  });
});

describe('the retention of what is beside them', () => {
  it('lets old lost writes go', async () => {
    await sql`insert into fencepost.lost_write
        (machine, run, event, fence, found_fence, found_status, at)
      select 'outbox', gen_random_uuid(), 'sent', 1, 2, 'sent', now() - interval '1 day' * n
      from generate_series(81, 100) n`.execute(database().db);
    await (await retention({ batch: 4 })).runOnce();
    expect(await count('lost_write')).toBe(9);
  });

  it('lets cool-downs go that have passed, and no others', async () => {
    await transaction(database(), async (tx) => {
      const reason = 'HTTP 429';
      await coolDown(tx, { channel: 'a', destination: 'passed', ms: 0, reason });
      await coolDown(tx, { channel: 'a', destination: 'running', ms: 60_000, reason });
      await coolDown(tx, { channel: 'a', destination: 'for good', ms: null, reason });
    });
    await (await retention()).runOnce();
    const rows = await sql`select destination from fencepost.cool_down order by 1`.execute(
      database().db,
    );
    expect(rows.rows).toEqual([{ destination: 'for good' }, { destination: 'running' }]);
  });

  it('keeps the newest thousand mails', async () => {
    const recipients = Array.from({ length: 1003 }, (_, i) => `${i}@example.com`);
    const mail = { messageId: 'm', sender: 's', subject: '', body: '', raw: '' };
    await insertMail(database().db, { ...mail, recipients });
    await (await retention({ batch: 2 })).runOnce();
    expect(await count('mailbox')).toBe(1000);
    const { rows } = await sql`select recipient from fencepost.mailbox order by id limit 1`.execute(
      database().db,
    );
    expect(rows).toEqual([{ recipient: '3@example.com' }]);
  });
});

describe('the loop', () => {
  it('does a first turn by itself, and stops between two batches', async () => {
    await finished('sent', 30);
    const { close } = startRetention({ database: database(), log: pino({ enabled: false }) });
    await close();
    const { runOnce } = await retention();
    await runOnce();
    expect(await count('delivery')).toBe(0);
  });

  it('survives a database that is gone', async () => {
    const gone = await openDatabase({ url: database().url });
    await gone.close();
    const { close, runOnce } = startRetention({ database: gone, log: pino({ enabled: false }) });
    await expect(runOnce()).rejects.toThrow();
    await close();
  });
});
