// How Postgres carries out the kernel's statements among a million deliveries, with the generic
// plans of prepared statements, without statistics and with them: by the indexes that are there for
// it, and never by looking at every row.

import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { compile, compileCandidates, type Parameter } from '../../persistence/compile.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { explain } from '../support/explain.ts';
import { useOpened } from '../support/opened.ts';

const minutes = 60_000;
const database = useOpened({
  limits: {
    lockMs: minutes,
    statementMs: minutes,
    idleMs: 2 * minutes,
    transactionMs: 3 * minutes,
  },
});

const share = { sent: 600_000, future: 200_000, due: 150_000, processing: 50_000 };
const all = Object.values(share).reduce((sum, each) => sum + each);

/** Rows as they would be: due ones in one channel of three, a tenth of the leases lapsed. */
async function load(tx: Tx): Promise<void> {
  await sql`alter table fencepost.delivery set (autovacuum_enabled = off)`.execute(tx);
  await sql`set local session_replication_role = replica`.execute(tx);
  await sql`
    insert into fencepost.delivery (id, status, definition, channel, recipient, payload,
      message_key, attempts, next_attempt_at, lease_expires_at, lease_owner, finished_at)
    select ('01990000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, status, 1, (array['email', 'webhook', 'telegram'])[1 + n % 3],
      'ada@example.org', '{}', 'key', attempts,
      now() + case when status = 'pending' and n > ${share.sent + share.due}
        then n * interval '1 second' else n * interval '-1 millisecond' end,
      case when status = 'processing'
        then now() + case when n % 10 = 0 then interval '-1 minute' else interval '5 minutes' end
      end,
      case when status = 'processing' then 'worker' end,
      case when status = 'sent' then now() end
    from generate_series(1, ${all}::int4) n,
      lateral (select case when n <= ${share.sent} then 'sent'
        when n <= ${share.sent + share.due + share.future} then 'pending'
        else 'processing' end as status) s,
      lateral (select case when status = 'pending' then 0 else 1 end as attempts) a`.execute(tx);
}

beforeAll(async () => {
  const before = performance.now();
  await transaction(database(), load);
  process.stdout.write(`${all} deliveries in ${Math.round(performance.now() - before)} ms\n`);
});

/** How a statement was carried out. */
const planOf = (
  statement: { readonly text: string; readonly parameters: readonly Parameter[] },
  values: (parameter: Parameter) => unknown,
  forbidden: readonly string[] = [],
) => explain(database(), { statement, values, forbidden });

async function someIds(count: number): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`select id from fencepost.delivery
    where status = 'processing' limit ${count}::int8`.execute(database().db);
  return rows.map(({ id }) => id);
}

describe.each(['without statistics', 'with statistics'])('%s', (state) => {
  beforeAll(async () => {
    if (state === 'with statistics') await sql`analyze fencepost.delivery`.execute(database().db);
    const { rows } = await sql`select count(*) as count from pg_stats
      where schemaname = 'fencepost' and tablename = 'delivery'`.execute(database().db);
    expect(rows).toEqual([{ count: state === 'with statistics' ? expect.any(Number) : 0 }]);
  });

  it.each([1, 500])('a claim of %d in a channel finds them by delivery_due', async (limit) => {
    const claim = compile(outbox, 'claim', { selector: 'claim', where: ['channel'] });
    const { access, rows, text } = await planOf(claim, (parameter) => {
      if (parameter.from === 'limit') return limit;
      if (parameter.from === 'where') return 'email';
      return 'name' in parameter && parameter.name === 'lease_ms' ? 60_000 : 'worker';
    });
    expect(access, text).toEqual(['delivery_due', 'delivery_pkey']);
    expect(rows).toBe(limit);
  });

  it('the picking behind a poison row finds them by delivery_due', async () => {
    const picking = compileCandidates(outbox, 'claim', ['channel']);
    const { access, text } = await planOf(picking, ({ from }) =>
      from === 'limit' ? 500 : 'email',
    );
    expect(access, text).toEqual(['delivery_due']);
  });

  it.each(['sent', 'fail', 'renew', 'release', 'throttle'] as const)(
    '%s by 500 ids finds them by their key',
    async (event) => {
      const ids = await someIds(500);
      const filled = (value: unknown) => ids.map(() => value);
      const fields = { retry_after_ms: 1, lease_ms: 1, retryable: true, unknown: true, error: '' };
      const values = (parameter: Parameter) => {
        if (parameter.from === 'ids') return ids;
        if (parameter.from === 'fences') return filled(1);
        const name = 'name' in parameter ? parameter.name : '';
        return filled(name in fields ? fields[name as keyof typeof fields] : '{}');
      };
      const statement = compile(outbox, event, { selector: 'ids' });
      const { access, rows, text } = await planOf(statement, values);
      expect(access, text).toEqual(['delivery_pkey']);
      expect(rows).toBe(500);
    },
  );

  it('a sweep finds lapsed leases by delivery_lapsed', async () => {
    const sweep = compile(outbox, 'lease.expired', { selector: 'sweep' });
    const { access, rows, text } = await planOf(sweep, ({ from }) =>
      from === 'limit' ? 500 : 'sweep',
    );
    expect(access, text).toEqual(['delivery_lapsed', 'delivery_pkey']);
    expect(rows).toBe(500);
  });

  it('a heal finds its run by its key', async () => {
    const [id] = await someIds(1);
    const heal = compile(outbox, 'lease.expired', { selector: 'heal' });
    const { access, text } = await planOf(heal, ({ from }) => (from === 'id' ? id : 'sweep'));
    expect(access, text).toEqual(['delivery_pkey']);
  });
});

it('a look at every row is seen, where no index may be used', async () => {
  const heal = compile(outbox, 'lease.expired', { selector: 'heal' });
  const [id] = await someIds(1);
  const value = ({ from }: Parameter) => (from === 'id' ? id : 'sweep');
  const { access } = await planOf(heal, value, ['enable_indexscan', 'enable_bitmapscan']);
  expect(access).toContain('Seq Scan');
});

it('no partial index goes by a status that has owners', async () => {
  const { rows } = await sql<{ name: string; predicate: string }>`
    select c.relname as name, pg_get_expr(i.indpred, i.indrelid) as predicate
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = 'fencepost.delivery'::regclass and i.indpred is not null`.execute(
    database().db,
  );
  expect(rows.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['delivery_due', 'delivery_lapsed']),
  );
  expect(rows.filter(({ predicate }) => predicate.includes('processing'))).toEqual([]);
});
