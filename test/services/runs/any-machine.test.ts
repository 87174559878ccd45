// A worker of a machine that is not the service's: without a renewal, without a way to give a run
// back, and with two claims, the second of which takes over what another owner let lapse.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { statusMachine } from '../../../machines/status-machine.ts';
import {
  after,
  clock,
  col,
  field,
  increment,
  lte,
  set,
  when,
} from '../../../machines/vocabulary.ts';
import { create } from '../../../persistence/create.ts';
import type { Database } from '../../../persistence/database.ts';
import { transaction } from '../../../persistence/transaction.ts';
import type { Work } from '../../../services/runs/work.ts';
import { makeDraftTable } from '../../support/draft-table.ts';
import { gate } from '../../support/mail-sink.ts';
import { fresh } from '../../support/opened.ts';
import { running } from '../../support/runs.ts';

const claimed = {
  tries: increment(col('tries')),
  until: after(clock, field('lease_ms')),
  holder: field('owner'),
};
const lapsed = { not_lapsed: lte(col('until'), clock) };

const chore = statusMachine({
  id: 'chore',
  description: 'Something to be done by one helper.',
  table: 'chore',
  columns: {
    title: 'text',
    next_at: 'instant',
    give_up_at: 'instant',
    tries: 'int',
    until: 'instant?',
    holder: 'text?',
    note: 'text?',
  },
  frozen: ['title', 'give_up_at'],
  fence: 'tries',
  lease: 'until',
  owner: 'holder',
  events: {
    claim: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    takeover: { by: 'claim', fields: { owner: 'text', lease_ms: 'int' } },
    finish: { by: 'owner', fields: { note: 'text' } },
    give_up: { by: 'sweep' },
  },
  initial: 'open',
  states: {
    open: {
      on: {
        claim: {
          guard: when({ not_due: lte(col('next_at'), clock) }),
          target: 'held',
          actions: set(claimed),
        },
        give_up: {
          guard: when({ in_time: lte(col('give_up_at'), clock) }),
          target: 'canceled',
        },
      },
    },
    held: {
      tags: ['leased'],
      on: {
        takeover: { guard: when(lapsed), target: 'held', actions: set(claimed) },
        finish: { target: 'done', actions: set({ note: field('note') }) },
      },
    },
    done: { type: 'final' },
    canceled: { type: 'final' },
  },
});

type Chore = Work<typeof chore>;

const doing = (overrides: Partial<Chore> = {}): Chore => ({
  name: 'claims',
  machine: chore,
  claim: 'claim',
  claimFields: ({ owner, leaseMs }) => ({ owner, lease_ms: leaseMs }),
  handle: async ({ title }) => ({ event: 'finish', fields: { note: `${title} is done` } }),
  onThrow: (error) => ({ event: 'finish', fields: { note: `not done: ${String(error)}` } }),
  ...overrides,
});

const now = () => Date.now() * 1000;
const hour = 3_600_000_000;

async function prepared(count: number): Promise<Database> {
  const database = await fresh();
  await makeDraftTable(database, chore, []);
  const born = { next_at: now() - hour, give_up_at: now() + hour };
  const rows = Array.from({ length: count }, (_, i) => ({ title: `chore ${i}`, ...born }));
  await transaction(database, (tx) => create(tx, chore, rows));
  return database;
}

const read = async ({ db }: Database) =>
  (
    await sql<{ status: string; note: string | null; tries: number }>`
      select status, note, tries from fencepost.chore order by title`.execute(db)
  ).rows;

describe('a worker of any machine', () => {
  it('claims, handles and ends its runs', async () => {
    const database = await prepared(3);
    const { seen } = await running(database, doing());
    await seen('ended', 3);
    expect(await read(database)).toMatchObject([
      { status: 'done', note: 'chore 0 is done' },
      { status: 'done', note: 'chore 1 is done' },
      { status: 'done', note: 'chore 2 is done' },
    ]);
  });

  it('takes over what lapsed, with the other claim', async () => {
    const database = await prepared(1);
    const hanging = doing({ handle: () => new Promise<never>(() => undefined) });
    const { runs, seen } = await running(database, hanging, { lastMs: 1 });
    await seen('started');
    await runs.stop(0);
    await sql`update fencepost.chore set until = now() - interval '1 s'`.execute(database.db);
    const works = [doing(), doing({ name: 'takeovers', claim: 'takeover' })];
    const second = await running(database, doing(), { works });
    await second.seen('ended');
    expect(await read(database)).toMatchObject([{ status: 'done', tries: 2 }]);
  });

  it('lets a run lapse that was not begun, where it cannot be given back', async () => {
    const database = await prepared(20);
    const stage = gate();
    let begun = 0;
    const handle = async () => {
      begun += 1;
      if (begun > 5) await stage.pass();
      return { event: 'finish', fields: { note: '' } } as const;
    };
    const pace = { concurrency: 1, batch: 10 };
    const { runs, seen, until, of } = await running(database, doing({ handle }), { pace });
    await stage.arrived;
    await until(() => of('claimed').reduce((sum, { count }) => sum + count, 0) > 6);
    const stopped = runs.stop(60_000);
    await seen('dropped');
    stage.open();
    await stopped;
    const statuses = (await read(database)).map(({ status }) => status);
    const dropped = of('dropped').length;
    expect(statuses.filter((status) => status === 'held')).toHaveLength(dropped);
    expect(statuses.filter((status) => status === 'done')).toHaveLength(6);
  });

  it('writes nothing for a run of which its handler says that it is not its own', async () => {
    const database = await prepared(1);
    const { seen, of, runs } = await running(database, doing({ handle: async () => undefined }));
    await seen('dropped');
    await runs.stop(0);
    expect(of('ended')).toEqual([]);
    expect(await read(database)).toMatchObject([{ status: 'held', note: null }]);
  });

  it('aborts what runs as soon as a drain begins, where it lets go', async () => {
    const database = await prepared(1);
    const handle: Chore['handle'] = async (_run, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { event: 'finish', fields: { note: String(signal.reason.code) } };
    };
    const { seen, runs } = await running(database, doing({ handle, letsGo: true }));
    await seen('started');
    await runs.stop(3_600_000);
    expect(await read(database)).toMatchObject([{ status: 'done', note: 'must_stop' }]);
  });

  it('has its sweeps sent, whatever they are called', async () => {
    const database = await fresh();
    await makeDraftTable(database, chore, []);
    const late = { title: 'late', next_at: now() + hour, give_up_at: now() - hour };
    await transaction(database, (tx) => create(tx, chore, [late]));
    const { seen, of } = await running(database, doing());
    await seen('lapsed');
    expect(of('lapsed')).toMatchObject([{ machine: 'chore', event: 'give_up', count: 1 }]);
    expect(await read(database)).toMatchObject([{ status: 'canceled' }]);
  });
});
