// What can be done about a plan that has ended, or before it begins: continue, compensate, preview.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { readSteps } from '../../../persistence/proposals.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { deliveryTool } from '../../../services/deliveries/tool.ts';
import { reject } from '../../../services/proposals/decide.ts';
import { compensatePlan, continuePlan } from '../../../services/proposals/follow-up.ts';
import { preview } from '../../../services/proposals/preview.ts';
import { useOpened } from '../../support/opened.ts';
import { allBad, doing, step } from '../../support/plan-tools.ts';
import {
  approved,
  approvedOne,
  carriedOut,
  executing,
  notes,
  proposed,
  read,
  toolsWith,
  writing,
} from '../../support/plans.ts';

const database = useOpened();
const mailing = deliveryTool({ sender: 'me@example.com' });
let broken = true;
const fickle = doing('fickle', async () => {
  if (broken) throw new Error('not today');
});
const tools = toolsWith(mailing, fickle, ...allBad);
const mail = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };
const sendMail = { tool: 'delivery.enqueue', arguments: mail };
const options = { tools, fourEyes: 'always' } as const;

const continuing = (id: string, actor = 'ada') =>
  transaction(database(), (tx) => continuePlan(tx, options, { id, actor }));
const compensating = (id: string, actor = 'ada') =>
  transaction(database(), (tx) => compensatePlan(tx, options, { id, actor }));

async function executed(id: string, planHash: string) {
  await approvedOne(database(), id, planHash);
  const executor = executing(database(), tools);
  await executor.execute(id, 'grace');
  await executor.ended(id);
  return await read(database(), id);
}

beforeAll(async () => {
  await sql`create table child_of (id int references fencepost.machine_installed (number))`
    .execute(database().db)
    .catch(() => undefined);
});

describe('continue', () => {
  it('proposes the steps that are left, the failed one first, to be approved anew', async () => {
    broken = true;
    const last = writing('last');
    const { id } = await carriedOut(database(), tools, [writing('done'), step(fickle), last]);
    const continued = await continuing(id);
    if (continued.outcome !== 'proposed') throw new Error(JSON.stringify(continued));
    const { row } = await read(database(), continued.id);
    expect(row).toMatchObject({
      ...{ status: 'pending', link: 'continue', linked_to: id, proposer: 'ada', steps: 2 },
      rationale: `Continues proposal ${id} from step 1.`,
    });
    expect(await readSteps(database().db, continued.id)).toMatchObject([
      { tool: 'bad.fickle' },
      { tool: 'note.write', arguments: expect.stringContaining('"text":"last"') },
    ]);
    broken = false;
    expect((await executed(continued.id, continued.planHash)).row.status).toBe('executed');
  });

  it('is there once, however many ask at once, until it was turned down', async () => {
    broken = true;
    const { id } = await carriedOut(database(), tools, [step(fickle)]);
    const both = await Promise.all([continuing(id), continuing(id)]);
    const made = both.find(({ outcome }) => outcome === 'proposed');
    if (made?.outcome !== 'proposed') throw new Error(JSON.stringify(both));
    expect(both).toContainEqual({ outcome: 'conflict', id: made.id });
    await transaction(database(), (tx) => reject(tx, { id: made.id, actor: 'grace' }));
    expect(await continuing(id)).toMatchObject({ outcome: 'proposed' });
  });

  it('is refused for a plan that did not fail', async () => {
    const { id } = await carriedOut(database(), tools, [writing('done')]);
    expect(await continuing(id)).toMatchObject({ outcome: 'refused', status: 'executed' });
    const pending = await proposed(database(), tools, [writing('x')]);
    expect(await continuing(pending.id)).toMatchObject({ outcome: 'refused', status: 'pending' });
    expect(await continuing(randomUUID())).toMatchObject({ outcome: 'missing' });
  });
});

describe('compensate', () => {
  it('proposes the inverse of what was done, in reverse order, and names what stays', async () => {
    const ids = [randomUUID(), randomUUID()];
    const steps = [writing('one', ids[0]), sendMail, writing('two', ids[1])];
    const { id } = await carriedOut(database(), tools, steps);
    const undone = await compensating(id);
    if (undone.outcome !== 'proposed') throw new Error(JSON.stringify(undone));
    const reason = 'A message that was sent cannot be called back.';
    expect(undone.cannotUndo).toEqual([{ step: 1, tool: 'delivery.enqueue', reason }]);
    const { row } = await read(database(), undone.id);
    expect(row.rationale).toBe(
      `Undoes step 2, 0 of proposal ${id}.\nCannot undo step 1, delivery.enqueue: ${reason}`,
    );
    expect(await readSteps(database().db, undone.id)).toMatchObject([
      { tool: 'note.delete', arguments: JSON.stringify({ id: ids[1] }) },
      { tool: 'note.delete', arguments: JSON.stringify({ id: ids[0] }) },
    ]);
    const { row: after } = await executed(undone.id, undone.planHash);
    expect(after.status).toBe('executed');
    const left = await notes(database());
    expect(ids.filter((note) => left.has(note))).toEqual([]);

    // And back again: a compensation is a plan like any other.
    const again = await compensating(undone.id);
    if (again.outcome !== 'proposed') throw new Error(JSON.stringify(again));
    await executed(again.id, again.planHash);
    const back = await notes(database());
    expect(ids.map((note) => back.get(note))).toEqual(['one', 'two']);
  });

  it('proposes nothing where nothing was done, or nothing of it can be undone', async () => {
    broken = true;
    const nothing = await carriedOut(database(), tools, [step(fickle)]);
    expect(await compensating(nothing.id)).toEqual({ outcome: 'nothing', cannotUndo: [] });
    const mailed = await carriedOut(database(), tools, [sendMail]);
    expect(await compensating(mailed.id)).toMatchObject({
      ...{ outcome: 'nothing', cannotUndo: [{ step: 0 }] },
    });
  });
});

describe('a preview', () => {
  const previewed = (id: string, previewMs = 5000) =>
    preview({ database: database(), tools, previewMs, lockMs: 100 }, { id, actor: 'grace' });

  /** Everything that is in the database. */
  async function everything(): Promise<unknown> {
    const { rows } = await sql<{ name: string }>`select c.oid::regclass::text as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'fencepost' and c.relkind = 'r' order by 1`.execute(database().db);
    const found: unknown[] = [];
    for (const { name } of rows) {
      found.push(
        name,
        (await sql`select * from ${sql.raw(name)} t order by t`.execute(database().db)).rows,
      );
    }
    return found;
  }

  it('says what each step would do after the earlier ones, and leaves no trace', async () => {
    const id = randomUUID();
    const deleting = { tool: 'note.delete', arguments: { id } };
    const plan = await proposed(database(), tools, [
      writing('short-lived', id),
      sendMail,
      deleting,
    ]);
    const before = await everything();
    const outcome = await previewed(plan.id);
    expect(outcome).toMatchObject({
      ...{ outcome: 'previewed', planHash: plan.planHash },
      steps: [
        {
          step: 0,
          outcome: 'ok',
          output: { id },
          sentence: `Writes the note ${id}: “short-lived”`,
        },
        { step: 1, outcome: 'ok', sentence: 'Sends the mail “Hello” to ada@example.com.' },
        { step: 2, outcome: 'ok', output: { id, text: 'short-lived' } },
      ],
    });
    expect(await everything()).toEqual(before);
  });

  it('ends with the first step that fails, and leaves no trace', async () => {
    const bad = tools.find('bad.throws');
    if (!bad) throw new Error('there is no such tool');
    const plan = await proposed(database(), tools, [writing('one'), step(bad), writing('never')]);
    const before = await everything();
    expect(await previewed(plan.id)).toMatchObject({
      steps: [
        { outcome: 'ok' },
        { outcome: 'failed', error: expect.stringContaining('out of paper') },
        { outcome: 'not_reached' },
      ],
    });
    expect(await everything()).toEqual(before);
  });

  it('waits for nobody', async () => {
    const id = randomUUID();
    await carriedOut(database(), tools, [writing('held', id)]);
    const plan = await proposed(database(), tools, [{ tool: 'note.delete', arguments: { id } }]);
    const outcome = await transaction(database(), async (holder) => {
      await sql`select from fencepost.note where id = ${id}::uuid for update`.execute(holder);
      return await previewed(plan.id);
    });
    expect(outcome).toMatchObject({
      steps: [{ outcome: 'failed', error: expect.stringContaining('55P03') }],
    });
  });

  it('has an end', async () => {
    const hangs = doing('hangs', () => new Promise(() => undefined));
    const some = toolsWith(hangs);
    const plan = await proposed(database(), some, [step(hangs), writing('never')]);
    const outcome = await preview(
      { database: database(), tools: some, previewMs: 100 },
      { id: plan.id, actor: 'grace' },
    );
    expect(outcome).toMatchObject({
      steps: [
        { outcome: 'failed', error: expect.stringContaining('did not end within') },
        { outcome: 'not_reached' },
      ],
    });
  });

  it('is of plans that are still to be carried out', async () => {
    const { id } = await carriedOut(database(), tools, [writing('done')]);
    expect(await previewed(id)).toMatchObject({ outcome: 'refused', status: 'executed' });
    expect(await previewed(randomUUID())).toMatchObject({ outcome: 'missing' });
    const ready = await approved(database(), tools, [writing('x')]);
    expect(await previewed(ready)).toMatchObject({ outcome: 'previewed' });
  });
});
