// From the proposal to its approval: what may be proposed, who may decide, and what is told of it.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { choicesOf } from '../../../machines/allowed.ts';
import { proposal as machine } from '../../../machines/proposal.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { deliveryTool } from '../../../services/deliveries/tool.ts';
import { approve, reject } from '../../../services/proposals/decide.ts';
import { type FourEyes, newProposal, propose } from '../../../services/proposals/propose.ts';
import { list, show } from '../../../services/proposals/show.ts';
import { type NewStep, type Risk, toolRegistry } from '../../../services/proposals/tools.ts';
import { fresh, useOpened } from '../../support/opened.ts';
import {
  approved,
  executing,
  expireOne,
  proposed,
  toolsWith,
  writing,
} from '../../support/plans.ts';

const database = useOpened();
const tools = toolsWith(deliveryTool({ sender: 'me@example.com' }));

interface Given {
  readonly risk?: Risk;
  readonly fourEyes?: FourEyes;
}

const proposing = (
  steps: readonly NewStep[],
  { risk = 'low', fourEyes = 'high-risk' }: Given = {},
) =>
  transaction(database(), (tx) =>
    propose(tx, { tools, fourEyes }, { ...newProposal.parse({ steps, risk }), proposer: 'ada' }),
  );

async function one(given: Given = {}) {
  const outcome = await proposing([writing('text')], given);
  if (outcome.outcome !== 'proposed') throw new Error(JSON.stringify(outcome));
  return outcome;
}

const approving = (id: string, planHash: string, actor: string) =>
  transaction(database(), (tx) => approve(tx, { id, actor, planHash }));
const shown = (id: string) => transaction(database(), (tx) => show(tx, tools, id));
/** What stands against an event, for who looks at the plan. */
async function against(id: string, event: string, actor: string) {
  const seen = await shown(id);
  const choices = seen ? choicesOf(machine, { ...seen.row }, seen.readAt, actor) : [];
  return choices.find(({ name }) => name === event)?.because;
}
const expire = (id: string) => expireOne(database(), id);
const count = async () => {
  const { rows } = await sql<{ n: number }>`select count(*) as n from fencepost.proposal`.execute(
    database().db,
  );
  return rows[0]?.n;
};

describe('proposing', () => {
  it.each<[string, string, NewStep]>([
    ['unknown_tool', '/steps/1/tool', { tool: 'rm.rf', arguments: {} }],
    ['unknown_version', '/steps/1/version', { ...writing('x'), version: 9 }],
    [
      'invalid_type',
      '/steps/1/arguments/text',
      { tool: 'note.write', arguments: { id: randomUUID() } },
    ],
    [
      'unrecognized_keys',
      '/steps/1/arguments',
      { tool: 'note.delete', arguments: { id: randomUUID(), 'a/b': 1 } },
    ],
    [
      'bad_address',
      '/steps/1/arguments/to',
      {
        tool: 'delivery.enqueue',
        arguments: { channel: 'email', to: 'x', subject: 's', body: 'b' },
      },
    ],
    ['unsafe_integer', '/steps/1/arguments', { tool: 'note.write', arguments: { id: 2 ** 60 } }],
    ['missing', '/steps/1/arguments', { tool: 'note.write', arguments: undefined }],
  ])('is refused with the step and a pointer: %s', async (code, pointer, bad) => {
    const before = await count();
    const outcome = await proposing([writing('good'), bad]);
    expect(outcome).toMatchObject({ outcome: 'invalid', problems: [{ step: 1, pointer, code }] });
    expect(await count()).toBe(before);
  });

  it('is refused for no step and for more than a hundred', async () => {
    for (const steps of [[], Array.from({ length: 101 }, () => writing('x'))]) {
      expect(await proposing(steps)).toMatchObject({
        outcome: 'invalid',
        problems: [{ step: null, pointer: '/steps', code: 'bad_length' }],
      });
    }
    const most = Array.from({ length: 100 }, () => writing('x'));
    expect(await proposing(most)).toMatchObject({ outcome: 'proposed' });
  });

  it('takes the gravest risk of its steps, which who proposes can only raise', async () => {
    const risks: unknown[] = [];
    const deleting = { tool: 'note.delete', arguments: { id: randomUUID() } };
    for (const [steps, risk] of [
      [[writing('x')], 'low'],
      [[writing('x'), deleting], 'low'],
      [[writing('x'), deleting], 'high'],
    ] as const) {
      const outcome = await proposing(steps, { risk });
      if (outcome.outcome === 'proposed') risks.push((await shown(outcome.id))?.risk);
    }
    expect(risks).toEqual(['low', 'medium', 'high']);
  });

  it('shows the plan as it is hashed, in words, with what can be done about it', async () => {
    const { id, planHash } = await one();
    const proposal = await shown(id);
    expect(proposal).toMatchObject({
      ...{ id, status: 'pending', planHash, proposer: 'ada', receipts: [], journal: [] },
      steps: [{ step: 0, sentence: expect.stringMatching(/^Writes the note .*: “text”$/) }],
    });
    expect(JSON.parse(proposal?.plan ?? '')).toMatchObject([{ tool: 'note.write', version: 1 }]);
    for (const event of ['approve', 'reject']) {
      expect(await against(id, event, 'grace'), event).toEqual([]);
    }
    for (const event of ['execute', 'continue', 'compensate']) {
      expect(await against(id, event, 'grace'), event).toEqual(['wrong_status']);
    }
  });

  it('describes its tools by JSON Schemas', () => {
    const described = tools.describe();
    expect(described.map(({ name }) => name)).toEqual(
      tools.names.toSorted((a, b) =>
        a === 'delivery.enqueue' ? 1 : b === 'delivery.enqueue' ? -1 : a < b ? 1 : -1,
      ),
    );
    expect(described[0]?.input).toMatchObject({ type: 'object', required: ['id', 'text'] });
    const twice = () => toolRegistry([...[1, 2]].map(() => deliveryTool({ sender: 'a@b.c' })));
    expect(twice).toThrow('delivery.enqueue@1 stands there twice');
  });
});

describe('approving', () => {
  it('takes the hash that was seen, and no other', async () => {
    const { id, planHash } = await one();
    expect(await approving(id, 'f'.repeat(64), 'grace')).toMatchObject({
      ...{ outcome: 'refused', because: ['plan_hash_mismatch'], status: 'pending', planHash },
    });
    expect(await approving(id, planHash, 'grace')).toEqual({ outcome: 'approved', id });
    const proposal = await shown(id);
    expect(proposal).toMatchObject({ status: 'approved', approvedBy: 'grace', planHash });
    expect(proposal?.journal).toMatchObject([{ event: 'approve', actor: 'grace' }]);
  });

  it.each<[FourEyes, Risk, string]>([
    ['always', 'low', 'refused'],
    ['high-risk', 'high', 'refused'],
    ['high-risk', 'low', 'approved'],
    ['never', 'high', 'approved'],
  ])('of one’s own plan under %s, at %s risk, is %s', async (fourEyes, risk, wanted) => {
    const { id, planHash } = await one({ fourEyes, risk });
    const outcome = await approving(id, planHash, 'ada');
    expect(outcome).toMatchObject({
      outcome: wanted,
      ...(wanted === 'refused' && { because: ['own_plan'], proposer: 'ada' }),
    });
    if (wanted === 'refused') expect(await against(id, 'approve', 'ada')).toEqual(['own_plan']);
    expect(await approving(id, planHash, 'grace')).toMatchObject({
      outcome: wanted === 'refused' ? 'approved' : 'refused',
    });
  });

  it('is held by the database against everybody', async () => {
    const { id } = await one({ fourEyes: 'always' });
    const self = sql`update fencepost.proposal set approved_by = proposer, status = 'approved',
      event = 'approve', actor = 'ada', seq = seq + 1 where id = ${id}::uuid`.execute(
      database().db,
    );
    await expect(self).rejects.toMatchObject({ constraint: 'proposal_four_eyes' });
  });

  it('of what was decided says who decided what', async () => {
    const { id, planHash } = await one();
    await transaction(database(), (tx) => reject(tx, { id, actor: 'eve', reason: 'too bold' }));
    expect(await approving(id, planHash, 'grace')).toMatchObject({
      ...{ outcome: 'refused', status: 'rejected', because: ['wrong_status'] },
      ...{ rejectedBy: 'eve', reason: 'too bold' },
    });
    expect(await approving(randomUUID(), planHash, 'grace')).toMatchObject({ outcome: 'missing' });
  });

  it('of an expired plan is refused, and reading it is enough to expire it', async () => {
    const { id, planHash } = await one();
    await expire(id);
    expect(await shown(id)).toMatchObject({ status: 'expired' });
    expect(await approving(id, planHash, 'grace')).toMatchObject({
      ...{ outcome: 'refused', status: 'expired', because: ['wrong_status'] },
    });
  });

  it('does not happen where it cannot be journalled', async () => {
    const given = await fresh();
    const { id, planHash } = await proposed(given, tools, [writing('x')]);
    await sql`alter table fencepost.journal add constraint nothing check (false) not valid`.execute(
      given.db,
    );
    const outcome = await transaction(given, (tx) => approve(tx, { id, actor: 'grace', planHash }));
    expect(outcome).toMatchObject({ outcome: 'invalid' });
    const seen = await transaction(given, (tx) => show(tx, tools, id));
    expect(seen).toMatchObject({ status: 'pending', approvedBy: null });
  });
});

describe('executing', () => {
  it('is refused for what is not approved, and says who decided', async () => {
    const executor = executing(database(), tools);
    const { id } = await one();
    const asked = () => executor.execute(id, 'grace');
    expect(await asked()).toMatchObject({ outcome: 'refused', status: 'pending' });
    await transaction(database(), (tx) => reject(tx, { id, actor: 'eve' }));
    expect(await asked()).toMatchObject({ outcome: 'refused', rejectedBy: 'eve' });
    expect(await executor.execute(randomUUID(), 'x')).toMatchObject({ outcome: 'missing' });
  });

  it('of a plan that has expired since it was approved is refused', async () => {
    const id = await approved(database(), tools, [writing('x')]);
    await expire(id);
    const executor = executing(database(), tools);
    expect(await executor.execute(id, 'grace')).toMatchObject({
      ...{ outcome: 'refused', status: 'expired', approvedBy: 'grace' },
    });
  });

  it('sends a mail exactly when its step is committed', async () => {
    const mail = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };
    const steps = [{ tool: 'delivery.enqueue', arguments: mail }];
    const id = await approved(database(), tools, steps);
    const executor = executing(database(), tools);
    await executor.execute(id, 'grace');
    await executor.ended(id);
    const proposal = await shown(id);
    expect(proposal?.steps.map(({ sentence }) => sentence)).toEqual([
      'Sends the mail “Hello” to ada@example.com.',
    ]);
    const output = (proposal?.receipts[0]?.output ?? {}) as { readonly id?: string };
    const row = await database()
      .db.selectFrom('fencepost.delivery')
      .select(['status', 'recipient'])
      .where('id', '=', String(output.id))
      .executeTakeFirst();
    expect(row).toEqual({ status: 'pending', recipient: 'ada@example.com' });
  });
});

describe('a list', () => {
  it('has pages by key, the newest first, each row after its time was judged', async () => {
    const given = await fresh();
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c', 'd']) {
      ids.push((await proposed(given, tools, [writing(text)])).id);
    }
    await expireOne(given, String(ids[1]));
    const page = (after?: string) =>
      transaction(given, (tx) => list(tx, { limit: 2, ...(after !== undefined && { after }) }));
    const first = await page();
    const second = await page(first.at(-1)?.id);
    expect([...first, ...second].map(({ id }) => id)).toEqual(ids.toReversed());
    expect([...first, ...second].map(({ status }) => status)).toEqual([
      'pending',
      'pending',
      'expired',
      'pending',
    ]);
    expect(await page(ids[0])).toEqual([]);
    const pending = await transaction(given, (tx) => list(tx, { limit: 9, status: 'pending' }));
    expect(pending).toHaveLength(3);
  });
});
