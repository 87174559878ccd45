// Steps of plans in a real Postgres: what a good tool, a bad one and a slow one come to. Whatever a
// tool does, its step has a receipt, earlier steps are kept, and later ones are not run.

import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { proposal } from '../../../machines/proposal.ts';
import { claim, heal, sweep } from '../../../persistence/claims.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { openExecutor } from '../../../services/proposals/executor.ts';
import { useOpened } from '../../support/opened.ts';
import { allBad, badTools, doing, step, traceId } from '../../support/plan-tools.ts';
import {
  approved,
  carriedOut,
  executing,
  lapse,
  leaseLapses,
  notes,
  planFindings,
  read,
  toolsWith,
  writing,
} from '../../support/plans.ts';
import { signal } from '../../support/signal.ts';

const database = useOpened();

beforeAll(async () => {
  for (const statement of [
    'create table parent_of (id int primary key)',
    'create table child_of (id int references parent_of deferrable initially deferred)',
  ]) {
    await sql.raw(statement).execute(database().db);
  }
});

describe('a plan of good steps', () => {
  it('is executed, each step with its receipt, and its journal tells it', async () => {
    const steps = [writing('one'), writing('two'), writing('three')];
    const { id, row, receipts, end } = await carriedOut(database(), toolsWith(), steps);
    expect(end).toBe('executed');
    expect(row).toMatchObject({
      ...{ status: 'executed', next_step: 3, open_step: null, lease_owner: null, reason: null },
      ...{ proposer: 'ada', approved_by: 'grace', executed_by: 'grace' },
    });
    expect(receipts).toMatchObject(
      steps.map((each, index) => ({
        index,
        outcome: 'ok',
        output: JSON.stringify({ id: (each.arguments as { id: string }).id }),
        error: null,
        fence: 1,
      })),
    );
    expect(await planFindings(database(), id)).toEqual([]);
    const { rows } = await sql<{ event: string }>`select event from fencepost.journal
      where run = ${id}::uuid order by seq`.execute(database().db);
    const ofSteps = steps.flatMap(() => ['step.open', 'step.ok']);
    expect(rows.map(({ event }) => event)).toEqual(['approve', 'execute', ...ofSteps]);
  });

  it('gives a step what earlier ones put out', async () => {
    const seen: unknown[] = [];
    const first = doing('first', async () => ({ count: 1 }));
    const looking = doing('looking', async (_, context) => {
      seen.push(context.outputOf(0), context.outputOf(1), context.outputOf(2));
    });
    const tools = toolsWith(first, looking);
    await carriedOut(database(), tools, [step(first), step(looking)]);
    expect(seen).toEqual([{ count: 1 }, undefined, undefined]);
  });

  it('judges what a step left to the end, and lets it mend that before', async () => {
    const mends = doing('mends', async (tx) => {
      await sql`insert into child_of values (1)`.execute(tx);
      await sql`insert into parent_of values (1)`.execute(tx);
    });
    const { row } = await carriedOut(database(), toolsWith(mends), [step(mends), writing('after')]);
    expect(row.status).toBe('executed');
  });
});

describe('a tool that misbehaves', () => {
  const tools = toolsWith(...allBad);

  it.each(badTools)('%s: has a failed receipt and no effect', async (name, reason) => {
    const bad = tools.find(`bad.${name}`);
    if (!bad) throw new Error(`there is no tool ${name}`);
    const steps = [writing('before'), step(bad), writing('after')];
    const { id, row, receipts, outcomes, end } = await carriedOut(database(), tools, steps);
    expect([row.status, outcomes, end]).toEqual(['failed', ['ok', 'failed'], 'failed']);
    expect(receipts[1]?.error).toMatch(reason);
    expect(row.reason).toBe(`step 1, bad.${name}: ${receipts[1]?.error}`);
    expect((await notes(database())).has(traceId)).toBe(false);
    expect(await planFindings(database(), id)).toEqual([]);
  });

  it('is all of the kinds that are known', () => {
    expect(badTools).toHaveLength(21);
  });
});

describe('a tool that does not end', () => {
  const limits = { lockMs: 100, statementMs: 400, idleMs: 600, transactionMs: 3000 };
  const bounded = { limits, toolMs: 50, leaseMs: 60_000 };

  it('is left at its deadline, and what it asks later reaches no connection', async () => {
    const asked = signal<string>();
    const late = doing('late', async (tx, context) => {
      await sql`select 1`.execute(tx);
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      await sql`insert into parent_of values (99)`.execute(tx).then(
        () => asked.give('answered'),
        (error: { readonly code: string }) => asked.give(error.code),
      );
    });
    const steps = [step(late), writing('after')];
    const { row, receipts } = await carriedOut(database(), toolsWith(late), steps, bounded);
    expect(row.status).toBe('failed');
    expect(receipts[0]?.error).toContain('did not end within 50 ms');
    expect(await asked.given).toBe('revoked');
    const { rows } = await sql`select from parent_of where id = 99`.execute(database().db);
    expect(rows).toEqual([]);
  });

  it('is ended in its statement by the limit of statements', async () => {
    const sleeps = doing('sleeps', (tx) => sql`select pg_sleep(20)`.execute(tx));
    const { row, receipts } = await carriedOut(
      database(),
      toolsWith(sleeps),
      [step(sleeps)],
      bounded,
    );
    expect(row.status).toBe('failed');
    expect(receipts[0]?.error).toContain('did not end within 50 ms');
  });

  it('fails though its connection is gone', async () => {
    const gone = doing('gone', (tx) =>
      sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx),
    );
    const steps = [writing('kept'), step(gone)];
    const { id, row, receipts } = await carriedOut(database(), toolsWith(gone), steps);
    expect([row.status, receipts[1]?.outcome]).toEqual(['failed', 'failed']);
    expect(receipts[1]?.error).toContain('57P01');
    expect(await planFindings(database(), id)).toEqual([]);
  });
});

describe('a step that is being carried out', () => {
  it('is a sign of life: nobody sweeps its lapsed lease, and who asks is told so', async () => {
    const [reached, goOn] = [signal(), signal()];
    const waits = doing('waits', async () => {
      reached.give();
      await goOn.given;
    });
    const tools = toolsWith(waits);
    const id = await approved(database(), tools, [writing('first'), step(waits)]);
    await leaseLapses(database(), id);
    const executor = executing(database(), tools);
    expect(await executor.execute(id, 'grace')).toMatchObject({ outcome: 'started', nextStep: 0 });
    await reached.given;
    const swept = await transaction(database(), (tx) =>
      sweep(tx, proposal, 'lease.expired', { limit: 10 }),
    );
    expect(swept).toEqual([]);
    expect(await transaction(database(), (tx) => heal(tx, proposal, id))).toBeUndefined();
    expect(await executor.execute(id, 'eve')).toMatchObject({
      ...{ outcome: 'executing', status: 'executing', nextStep: 1 },
      receipts: [{ step: 0, outcome: 'ok' }],
    });
    goOn.give();
    await executor.ended(id);
    expect(await executor.execute(id, 'eve')).toMatchObject({
      ...{ outcome: 'finished', status: 'executed' },
      receipts: [{ step: 0 }, { step: 1 }],
    });
    expect((await read(database(), id)).row.executed_by).toBe('grace');
  });
});

describe('a run whose process went', () => {
  it('was interrupted, which whoever asks next is told', async () => {
    const id = await approved(database(), toolsWith(), [writing('one'), writing('two')]);
    await transaction(database(), async (tx) => {
      const fields = { owner: 'gone', lease_ms: 60_000, executed_by: 'grace' };
      await claim(tx, proposal, 'execute', { limit: 1, where: { id }, ...fields });
    });
    await lapse(database(), id);
    const executor = executing(database(), toolsWith());
    expect(await executor.execute(id, 'grace')).toMatchObject({
      ...{ outcome: 'finished', status: 'failed', reason: 'interrupted', receipts: [] },
    });
  });
});

describe('a stop', () => {
  it('lets a run go on to its end within the grace, and starts nothing more', async () => {
    const [reached, goOn] = [signal(), signal()];
    const waits = doing('waits', async () => {
      reached.give();
      await goOn.given;
    });
    const tools = toolsWith(waits);
    const id = await approved(database(), tools, [step(waits), writing('second')]);
    const other = await approved(database(), tools, [writing('other')]);
    const executor = executing(database(), tools);
    await executor.execute(id, 'grace');
    await reached.given;
    const stopped = executor.stop(60_000);
    expect(await executor.execute(other, 'grace')).toEqual({ outcome: 'stopping', id: other });
    goOn.give();
    await stopped;
    expect((await read(database(), id)).row.status).toBe('executed');
    expect((await read(database(), other)).row.status).toBe('approved');
  });

  it('interrupts it between two steps when it must hurry', async () => {
    const [reached, goOn] = [signal(), signal()];
    const waits = doing('waits', async () => {
      reached.give();
      await goOn.given;
    });
    const tools = toolsWith(waits);
    const id = await approved(database(), tools, [step(waits), writing('second')]);
    const executor = executing(database(), tools);
    await executor.execute(id, 'grace');
    await reached.given;
    const stopped = executor.stop(60_000);
    executor.hurry();
    goOn.give();
    await stopped;
    const { row, outcomes } = await read(database(), id);
    expect([row.status, outcomes]).toEqual(['failed', ['ok']]);
    expect(row.reason).toContain('was stopped');
    expect(await planFindings(database(), id)).toEqual([]);
  });
});

describe('an executor', () => {
  it('has room for so many plans, and leaves the others approved', async () => {
    const [reached, goOn] = [signal(), signal()];
    const waits = doing('waits', async () => {
      reached.give();
      await goOn.given;
    });
    const tools = toolsWith(waits);
    const first = await approved(database(), tools, [step(waits)]);
    const second = await approved(database(), tools, [writing('second')]);
    const executor = executing(database(), tools, { concurrency: 1 });
    await executor.execute(first, 'grace');
    await reached.given;
    expect(await executor.execute(second, 'grace')).toEqual({ outcome: 'busy', id: second });
    goOn.give();
    await executor.ended(first);
    expect(await executor.execute(second, 'grace')).toMatchObject({ outcome: 'started' });
    await executor.ended(second);
  });

  it('does not run a plan that is not the one that was approved', async () => {
    const id = await approved(database(), toolsWith(), [writing('one')]);
    await transaction(database(), async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`update fencepost.proposal_step set arguments = replace(arguments, 'one', 'two')
        where proposal = ${id}::uuid`.execute(tx);
    });
    const executor = executing(database(), toolsWith());
    await executor.execute(id, 'grace');
    expect(await executor.ended(id)).toMatchObject({ end: 'interrupted' });
    const { row, receipts } = await read(database(), id);
    expect([row.status, row.reason, receipts]).toEqual(['failed', 'plan_hash_mismatch', []]);
  });

  it('fails a step whose tool is of another version by then', async () => {
    const id = await approved(database(), toolsWith(), [writing('one')]);
    const executor = executing(database(), { ...toolsWith(), find: () => undefined });
    await executor.execute(id, 'grace');
    await executor.ended(id);
    const { row, receipts } = await read(database(), id);
    expect(row.status).toBe('failed');
    expect(receipts[0]?.error).toContain('there is no tool note.write of version 1');
  });

  it('does not start with times that do not go together', () => {
    const limits = { lockMs: 1, statementMs: 10, idleMs: 20, transactionMs: 30 };
    const open = (toolMs: number, leaseMs: number) => () =>
      openExecutor({
        ...{ database: database(), tools: toolsWith(), limits, toolMs, leaseMs, concurrency: 1 },
        log: pino({ enabled: false }),
      });
    expect(open(10, 100)).toThrow("a tool's deadline of 10 ms must be shorter");
    expect(open(5, 30)).toThrow('transaction < lease');
    expect(open(Number.NaN, 100)).toThrow("a tool's deadline");
  });
});
