// Plans in a test: proposed by Ada, approved by Grace, carried out by an executor whose events the
// test waits for; and what must hold of every plan that nobody is carrying out any more.
//
// - Each step that writes a note writes one of its own, so that effects can be counted.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { proposal } from '../../machines/proposal.ts';
import { heal } from '../../persistence/claims.ts';
import type { Database } from '../../persistence/database.ts';
import { defaultLimits } from '../../persistence/limits.ts';
import {
  lockProposal,
  readProposal,
  readReceipts,
  readSteps,
} from '../../persistence/proposals.ts';
import { transaction } from '../../persistence/transaction.ts';
import { approve } from '../../services/proposals/decide.ts';
import {
  type Executor,
  type ExecutorEvent,
  type ExecutorOptions,
  openExecutor,
} from '../../services/proposals/executor.ts';
import { noteDelete, noteWrite } from '../../services/proposals/notes.ts';
import { type NewProposal, propose } from '../../services/proposals/propose.ts';
import {
  type NewStep,
  type Tool,
  type ToolRegistry,
  toolRegistry,
} from '../../services/proposals/tools.ts';

export const toolsWith = (...tools: readonly Tool[]): ToolRegistry =>
  toolRegistry([noteWrite, noteDelete, ...tools]);

/** A step that writes a note of its own. */
export const writing = (text: string, id: string = randomUUID()): NewStep => ({
  tool: 'note.write',
  arguments: { id, text },
});

type Steps = readonly NewStep[];
type More = Partial<NewProposal>;

const fourEyes = 'high-risk';

/** Proposes a plan that has nothing wrong with it. */
export async function proposed(
  database: Database,
  tools: ToolRegistry,
  steps: Steps,
  more: More = {},
): Promise<{ readonly id: string; readonly planHash: string }> {
  const plan = { risk: 'low', rationale: '', expiresInMs: 3_600_000, ...more } as const;
  const outcome = await transaction(database, (tx) =>
    propose(tx, { tools, fourEyes }, { ...plan, steps: [...steps], proposer: 'ada' }),
  );
  if (outcome.outcome !== 'proposed') throw new Error(JSON.stringify(outcome.problems));
  return outcome;
}

/** Proposes a plan and has it approved. */
export async function approved(
  database: Database,
  tools: ToolRegistry,
  steps: Steps,
  more: More = {},
): Promise<string> {
  const { id, planHash } = await proposed(database, tools, steps, more);
  await approvedOne(database, id, planHash);
  return id;
}

export async function approvedOne(database: Database, id: string, planHash: string) {
  const outcome = await transaction(database, (tx) =>
    approve(tx, { id, actor: 'grace', planHash }),
  );
  if (outcome.outcome !== 'approved') throw new Error(JSON.stringify(outcome));
}

export interface Watched extends Executor {
  readonly events: readonly ExecutorEvent[];
  /** Resolves when the plan has ended here. */
  ended(id: string): Promise<ExecutorEvent>;
  /** Resolves when this is true, which is asked at each event. */
  until(isTrue: () => boolean): Promise<void>;
}

const silent = pino({ enabled: false });

/** An executor whose events can be waited for. Who opens it stops it. */
export function watched(
  database: Database,
  tools: ToolRegistry,
  overrides: Partial<ExecutorOptions> = {},
): Watched {
  const events: ExecutorEvent[] = [];
  const waiting = new Set<() => void>();
  const executor = openExecutor({
    database,
    tools,
    limits: defaultLimits,
    toolMs: 10_000,
    leaseMs: 120_000,
    concurrency: 10,
    log: silent,
    observe(event) {
      events.push(event);
      for (const look of waiting) look();
    },
    ...overrides,
  });
  const until = (isTrue: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isTrue()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const endOf = (id: string) =>
    events.find((event) => event.type === 'ended' && event.proposal === id);
  return {
    ...executor,
    events,
    until,
    async ended(id) {
      await until(() => endOf(id) !== undefined);
      const end = endOf(id);
      if (!end) throw new Error('an end that was seen is gone');
      return end;
    },
  };
}

/** An executor for one test. */
export function executing(
  database: Database,
  tools: ToolRegistry,
  overrides: Partial<ExecutorOptions> = {},
): Watched {
  const executor = watched(database, tools, overrides);
  onTestFinished(() => executor.stop(0));
  return executor;
}

/** Carries out a plan to its end, and reads what came of it. */
export async function carriedOut(
  database: Database,
  tools: ToolRegistry,
  steps: Steps,
  overrides: Partial<ExecutorOptions> = {},
) {
  const id = await approved(database, tools, steps);
  const executor = executing(database, tools, overrides);
  await executor.execute(id, 'grace');
  const { end } = (await executor.ended(id)) as { readonly end?: string };
  return { id, end, executor, ...(await read(database, id)) };
}

/** The plan as it is committed. */
export async function read({ db }: Database, id: string) {
  const row = await readProposal(db, id);
  if (!row) throw new Error(`there is no proposal ${id}`);
  const receipts = await readReceipts(db, id);
  return { row, receipts, outcomes: receipts.map(({ outcome }) => outcome) };
}

export async function notes({ db }: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom('fencepost.note').select(['id', 'text']).execute();
  return new Map(rows.map(({ id, text }) => [id, text]));
}

/** Has a plan's time be over, without anybody having said so yet. */
export async function expireOne(database: Database, id: string): Promise<void> {
  await transaction(database, async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.proposal set expires_at = now() - interval '1 s'
      where id = ${id}::uuid`.execute(tx);
  });
}

/** Has the lease of a plan lapse, whoever holds it, once its row is free. */
export async function lapse(database: Database, id: string): Promise<void> {
  await transaction(database, async (tx) => {
    await lockProposal(tx, id);
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.proposal set lease_expires_at = now() - interval '1 hour'
      where id = ${id}::uuid and lease_expires_at is not null`.execute(tx);
  });
}

/** From its first step on, the lease of this plan has lapsed as soon as it is renewed. */
export async function leaseLapses({ db }: Database, id: string): Promise<void> {
  const name = sql.raw(`z_lapses_${id.replaceAll('-', '')}`);
  await sql`create function ${name}() returns trigger language plpgsql as $$ begin
    new.lease_expires_at := now() - interval '1 hour'; return new; end $$`.execute(db);
  // By its name it comes after the guard.
  await sql`create trigger ${name} before update on fencepost.proposal for each row
    when (new.id = ${sql.lit(id)} and new.event = 'step.ok' and new.status = 'executing')
    execute function ${name}()`.execute(db);
}

/** What becomes of a plan whose process is gone. */
export async function recovered(database: Database, id: string): Promise<void> {
  await lapse(database, id);
  await transaction(database, (tx) => heal(tx, proposal, id));
}

/**
 * What is wrong with a plan that nobody is carrying out: every receipt has its effect and every
 * effect its receipt, and the status says what the receipts say.
 */
export async function planFindings(database: Database, id: string): Promise<string[]> {
  const { row, receipts } = await read(database, id);
  const steps = await readSteps(database.db, id);
  const written = await notes(database);
  const done = receipts.filter(({ outcome }) => outcome === 'ok').map(({ index }) => index);
  const failed = receipts.filter(({ outcome }) => outcome === 'failed').map(({ index }) => index);
  const findings: string[] = [];
  const expect = (isSo: boolean, what: string) => {
    if (!isSo) findings.push(`${row.status}, next ${row.next_step}, done ${done}: ${what}`);
  };
  for (const [index, step] of steps.entries()) {
    if (step.tool !== 'note.write') continue;
    const note = JSON.parse(step.arguments) as { readonly id: string; readonly text: string };
    const hasEffect = written.get(note.id) === note.text;
    if (hasEffect && !done.includes(index)) findings.push(`step ${index}: effect, no receipt`);
    if (!hasEffect && done.includes(index)) findings.push(`step ${index}: receipt, no effect`);
  }
  expect(row.status !== 'executing', 'is still executing');
  expect(row.open_step === null, 'a step is open');
  expect(done.join() === [...done.keys()].join(), 'receipts with a gap');
  expect(done.length === row.next_step, 'the count of steps is not that of receipts');
  expect((row.status === 'executed') === (done.length === row.steps), 'the status is another');
  expect(failed.length <= 1, 'two steps failed');
  const isFailure = row.status === 'failed' && failed[0] === row.next_step;
  expect(failed.length === 0 || isFailure, 'a failed receipt where none belongs');
  return findings;
}
