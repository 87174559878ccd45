// What the database itself holds about plans, by raw SQL: no open step is committed, none is closed
// without its receipt, and neither plans nor receipts are rewritten.

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { forbiddenWord } from '../../persistence/handle.ts';
import { connected, useOpened } from '../support/opened.ts';
import { approved, carriedOut, proposed, read, toolsWith, writing } from '../support/plans.ts';

const database = useOpened();
const steps = () => [writing('one'), writing('two')];
const run = (text: string) => sql.raw(text).execute(database().db);

/** A plan in somebody's hands, and a client to be that somebody. */
async function claimed() {
  const id = await approved(database(), toolsWith(), steps());
  const client = await connected(new pg.Client(database().url));
  await client.query(`update fencepost.proposal set status = 'executing', fence = 1,
    lease_owner = 'me', lease_expires_at = now() + interval '1 hour' where id = '${id}'`);
  const set = (change: string) =>
    client.query(`update fencepost.proposal set ${change} where id = '${id}'`);
  const receipt = (index: number) =>
    client.query(`insert into fencepost.proposal_receipt (proposal, index, outcome, fence)
      values ('${id}', ${index}, 'ok', 1)`);
  return { id, client, set, receipt };
}

describe('a step', () => {
  it('that is open cannot be committed', async () => {
    const { id, client, set } = await claimed();
    await client.query('begin');
    await set('open_step = 0');
    await client.query(`insert into fencepost.note (id, text) values ('${id}', 'effect')`);
    await expect(client.query('commit')).rejects.toMatchObject({
      constraint: 'proposal_step_open',
    });
    const left = await run(`select from fencepost.note where id = '${id}'`);
    expect(left.rows).toEqual([]);
    expect((await read(database(), id)).row.open_step).toBeNull();
  });

  it('cannot be closed without its receipt', async () => {
    const { client, set, receipt } = await claimed();
    const constraint = 'proposal_step_without_receipt';
    await client.query('begin');
    await set('open_step = 0');
    await set('open_step = null, next_step = 1');
    await expect(client.query('commit')).rejects.toMatchObject({ constraint });
    await client.query('begin');
    await set('open_step = 0');
    await set('open_step = null, next_step = 1');
    await receipt(1);
    await expect(client.query('set constraints all immediate')).rejects.toMatchObject({
      constraint,
    });
    await client.query('rollback');
    await client.query('begin');
    await set('open_step = 0');
    await set('open_step = null, next_step = 1');
    await receipt(0);
    await client.query('commit');
  });

  it('has one receipt', async () => {
    const { receipt } = await claimed();
    await receipt(0);
    await expect(receipt(0)).rejects.toMatchObject({ constraint: 'proposal_receipt_pkey' });
  });
});

describe('a plan', () => {
  it.each([
    [
      'a step is changed',
      `update fencepost.proposal_step set arguments = '{}' where proposal = $1`,
    ],
    ['a step is taken away', 'delete from fencepost.proposal_step where proposal = $1'],
    [
      'receipts are changed',
      `update fencepost.proposal_receipt set outcome = 'failed' where proposal = $1`,
    ],
    ['receipts are taken away', 'delete from fencepost.proposal_receipt where proposal = $1'],
    ['steps are truncated', 'truncate fencepost.proposal_step'],
    ['receipts are truncated', 'truncate fencepost.proposal_receipt'],
  ])('is refused when %s', async (_, text) => {
    const { id } = await carriedOut(database(), toolsWith(), steps());
    const changing = run(text.replace('$1', `'${id}'`));
    await expect(changing).rejects.toMatchObject({ constraint: 'proposal_append_only' });
  });

  it('is refused when a step is added to it, or to none', async () => {
    const id = await approved(database(), toolsWith(), steps());
    const { id: pending } = await proposed(database(), toolsWith(), steps());
    const into = (proposal: string, index: number) =>
      run(`insert into fencepost.proposal_step values ('${proposal}', ${index}, 'rm.rf', 1, '{}')`);
    const late = { constraint: 'proposal_step_late' };
    await expect(into(id, 1)).rejects.toMatchObject(late);
    await expect(into(pending, 2)).rejects.toMatchObject(late);
    await expect(into('00000000-0000-4000-8000-000000000000', 0)).rejects.toMatchObject(late);
  });

  it('does not change its hash, its risk or its policy once it is proposed', async () => {
    const { id } = await proposed(database(), toolsWith(), steps());
    for (const column of ['plan_hash', 'risk', 'four_eyes', 'proposer', 'rationale']) {
      const changing = run(`update fencepost.proposal set ${column} = 'x' where id = '${id}'`);
      await expect(changing).rejects.toMatchObject({ constraint: 'proposal_frozen' });
    }
  });

  it('takes its steps and its receipts with it when it is deleted', async () => {
    const { id } = await carriedOut(database(), toolsWith(), steps());
    await run(`delete from fencepost.proposal where id = '${id}'`);
    for (const table of ['proposal_step', 'proposal_receipt']) {
      const { rows } = await run(`select from fencepost.${table} where proposal = '${id}'`);
      expect(rows).toEqual([]);
    }
  });
});

describe('a statement of a tool', () => {
  it.each([
    ...['commit', 'COMMIT', ' end', 'rollback to x', 'Abort', 'begin', 'start transaction'],
    ...['savepoint a', 'release a', 'prepare transaction $$x$$', 'set local x = 1', 'reset all'],
    ...['discard all', 'listen x', ';commit', '(commit', '-- x\ncommit', '/* x */commit'],
    ...['/* /* */ */ commit', '/**/ -- y\n /*z*/commit'],
  ])('is refused: %j', (text) => {
    expect(forbiddenWord(text)).toBeDefined();
  });

  it.each([
    ...['select 1', 'with commit as (select 1) select * from commit', 'insert into set values (1)'],
    ...['update begin set x = 1', 'commitment', '-- commit', '/* commit */ select 1', ''],
    ...['call begin()', 'do $$ begin end $$', 'settle', '/* never ended'],
  ])('is taken: %j', (text) => {
    expect(forbiddenWord(text)).toBeUndefined();
  });
});
