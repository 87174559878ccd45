// The proposals' API as a client sees it. Every answer is checked by its route's schema on the way.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NewStep } from '../../../services/proposals/tools.ts';
import { useOpened } from '../../support/opened.ts';
import { doing, step } from '../../support/plan-tools.ts';
import { expireOne, notes, toolsWith, writing } from '../../support/plans.ts';
import { openProposalApi } from '../../support/proposal-api.ts';
import { signal } from '../../support/signal.ts';

const database = useOpened();
const broken = doing('broken', async () => {
  throw new Error('out of paper');
});
type Items = readonly { readonly id: string; readonly status: string }[];

describe('a plan over HTTP', () => {
  it('is proposed once under a key', async () => {
    const { ada, grace } = await openProposalApi(database());
    const body = { steps: [writing('one')], rationale: 'Because.' };
    const key = { 'idempotency-key': randomUUID() };
    const first = await ada.call('POST', '/v1/proposals', body, key);
    const again = await ada.call('POST', '/v1/proposals', body, key);
    expect([first.status, again.body]).toEqual([201, first.body]);
    expect(first.location).toBe(`/v1/proposals/${first.body['id']}`);
    const seen = await grace.call('GET', String(first.location));
    expect(seen.body).toMatchObject({
      ...{ status: 'pending', proposer: 'ada', rationale: 'Because.', stepCount: 1 },
      ...{ planHash: first.body['planHash'], receipts: [], journal: [] },
      steps: [{ step: 0, tool: 'note.write', version: 1, arguments: { text: 'one' } }],
    });
  });

  it.each<[string, readonly NewStep[], string, string]>([
    [
      'an unknown tool',
      [writing('a'), { tool: 'x.y', arguments: {} }],
      'unknown_tool',
      '/steps/1/tool',
    ],
    [
      'a wrong argument',
      [{ tool: 'note.write', arguments: { id: randomUUID(), text: 7 } }],
      'invalid_type',
      '/steps/0/arguments/text',
    ],
    [
      'an unknown version',
      [{ ...writing('a'), version: 9 }],
      'unknown_version',
      '/steps/0/version',
    ],
    ['no steps', [], 'bad_length', '/steps'],
  ])('is refused for %s, by step and pointer, and not stored', async (_, steps, code, pointer) => {
    const { ada } = await openProposalApi(database());
    const before = await ada.call('GET', '/v1/proposals?limit=1');
    const answer = await ada.call('POST', '/v1/proposals', { steps });
    const places = pointer === '/steps' ? [] : [Number(pointer.split('/')[2])];
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'invalid_plan', errors: [{ code, pointer }], steps: places },
    });
    expect((await ada.call('GET', '/v1/proposals?limit=1')).body).toEqual(before.body);
  });

  it('is refused where JSON would lose something of it', async () => {
    const { ada } = await openProposalApi(database());
    const body = '{"steps":[{"tool":"note.write","arguments":{"id":"a","id":"b","text":"x"}}]}';
    const answer = await ada.call('POST', '/v1/proposals', body);
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'duplicate_key', pointer: '/steps/0/arguments/id' }] },
    });
  });

  it('is approved by its hash, and by nobody who looked at another', async () => {
    const { grace, proposed } = await openProposalApi(database());
    const { id, planHash } = await proposed([writing('one')]);
    const stale = await grace.to(id, 'approve', { planHash: 'f'.repeat(64) });
    expect(stale).toMatchObject({
      status: 409,
      body: { code: 'plan_hash_mismatch', planHash, proposalStatus: 'pending' },
    });
    const done = await grace.to(id, 'approve', { planHash });
    expect(done).toMatchObject({ status: 200, body: { id, status: 'approved' } });
    const late = await grace.to(id, 'reject', { reason: 'Too late?' });
    expect(late).toMatchObject({ status: 200, body: { status: 'rejected' } });
    expect(await grace.to(id, 'approve', { planHash })).toMatchObject({
      status: 409,
      body: {
        ...{ code: 'wrong_status', proposalStatus: 'rejected', approvedBy: 'grace' },
        ...{ rejectedBy: 'grace', reason: 'Too late?' },
        detail: 'It is "rejected", grace approved it and grace rejected it: Too late?.',
      },
    });
  });

  it('is not approved by who proposed it under four eyes, which it says before', async () => {
    const { ada, grace, proposed } = await openProposalApi(database(), { fourEyes: 'always' });
    const { id, planHash } = await proposed([writing('one')]);
    const choicesOf = async (person: typeof ada) =>
      (await person.call('GET', `/v1/proposals/${id}`)).body['choices'] as readonly {
        readonly name: string;
        readonly allowed: boolean;
        readonly because: readonly { readonly code: string }[];
      }[];
    const approve = (choices: Awaited<ReturnType<typeof choicesOf>>) =>
      choices.find(({ name }) => name === 'approve');
    expect(approve(await choicesOf(grace))).toMatchObject({ allowed: true });
    expect(approve(await choicesOf(ada))).toMatchObject({
      allowed: false,
      because: [{ code: 'own_plan' }],
    });
    expect(await ada.to(id, 'approve', { planHash })).toMatchObject({
      status: 409,
      body: { code: 'own_plan', proposer: 'ada', proposalStatus: 'pending' },
    });
  });

  it('that has expired is told so, whoever asks for what', async () => {
    const { grace, proposed, approved } = await openProposalApi(database());
    const { id, planHash } = await proposed([writing('one')]);
    const other = await approved([writing('two')]);
    for (const each of [id, other]) await expireOne(database(), each);
    expect(await grace.to(id, 'approve', { planHash })).toMatchObject({
      status: 409,
      body: { code: 'expired', planHash },
    });
    for (const what of ['execute', 'preview']) {
      expect(await grace.to(other, what), what).toMatchObject({
        status: 409,
        body: { code: 'expired', proposalStatus: 'expired', approvedBy: 'grace' },
      });
    }
  });

  it('is listed in pages, by status and by who proposed it', async () => {
    const { ada, grace, proposed } = await openProposalApi(database());
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c']) ids.push((await proposed([writing(text)])).id);
    await grace.to(String(ids[1]), 'reject', {});
    const page = async (query: string) => {
      const { body } = await ada.call('GET', `/v1/proposals?${query}`);
      return { items: body['items'] as Items, next: body['next'] };
    };
    const first = await page('limit=2&proposer=ada');
    const rest = await page(`limit=2&proposer=ada&cursor=${first.next}`);
    const all = [...first.items, ...rest.items].map(({ id }) => id);
    expect(all.slice(0, 3)).toEqual(ids.toReversed());
    expect((await page('limit=1&status=rejected')).items[0]?.id).toBe(ids[1]);
    expect(await page('proposer=nobody')).toEqual({ items: [], next: null });
    const nul = await ada.call('GET', '/v1/proposals?proposer=%00');
    expect(nul.status).toBe(400);
    const other = await ada.call('GET', `/v1/proposals?status=failed&cursor=${first.next}`);
    expect(other).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
  });

  it('can be proposed by who has read the list of tools', async () => {
    const { ada } = await openProposalApi(database());
    const { body } = await ada.call('GET', '/v1/tools');
    expect(body['items']).toMatchObject([
      { name: 'note.write', version: 1, risk: 'low', input: { required: ['id', 'text'] } },
      { name: 'note.delete', version: 1, risk: 'medium' },
    ]);
  });
});

describe('execute', () => {
  it('starts once, then tells progress, then receipts', async () => {
    const gate = signal();
    const reached = signal();
    const waits = doing('waits', async () => {
      reached.give();
      await gate.given;
      return { waited: true };
    });
    const given = { tools: toolsWith(waits), concurrency: 1 };
    const { grace, approved, executor } = await openProposalApi(database(), given);
    const id = await approved([writing('one'), step(waits)]);
    const waiting = await approved([writing('two')]);
    const first = await grace.to(id, 'execute');
    expect(first).toMatchObject({
      status: 202,
      location: `/v1/proposals/${id}`,
      body: { outcome: 'started', status: 'executing', stepCount: 2, receipts: [] },
    });
    await reached.given;
    expect(await grace.to(id, 'execute')).toMatchObject({
      status: 202,
      body: { outcome: 'executing', nextStep: 1, receipts: [{ step: 0, outcome: 'ok' }] },
    });
    const busy = await grace.to(waiting, 'execute');
    expect(busy).toMatchObject({ status: 503, body: { code: 'executor_busy' } });
    expect(busy.headers.get('retry-after')).toBe('1');
    gate.give();
    await executor.ended(id);
    expect(await grace.to(id, 'execute')).toMatchObject({
      status: 200,
      body: {
        ...{ outcome: 'finished', status: 'executed', nextStep: 2 },
        receipts: [{ step: 0 }, { step: 1, output: { waited: true } }],
      },
    });
  });

  it('is refused for what nobody approved, and for what is not there', async () => {
    const { grace, proposed } = await openProposalApi(database());
    const { id } = await proposed([writing('one')]);
    expect(await grace.to(id, 'execute')).toMatchObject({
      status: 409,
      body: { code: 'wrong_status', proposalStatus: 'pending', approvedBy: null },
    });
    for (const what of ['execute', 'preview', 'continue', 'compensate']) {
      expect(await grace.to(randomUUID(), what), what).toMatchObject({
        status: 404,
        body: { code: 'proposal_not_found' },
      });
    }
  });
});

describe('a plan that has ended', () => {
  it('is continued once, with the steps that are left', async () => {
    const { ada, executed } = await openProposalApi(database(), { tools: toolsWith(broken) });
    const id = await executed([writing('one'), step(broken), writing('three')]);
    const next = await ada.to(id, 'continue');
    expect(next).toMatchObject({ status: 201, body: { linkedTo: id, cannotUndo: [] } });
    const seen = await ada.call('GET', String(next.location));
    expect(seen.body).toMatchObject({ link: 'continue', linkedTo: id, stepCount: 2 });
    expect(await ada.to(id, 'continue')).toMatchObject({
      status: 409,
      body: { code: 'already_followed', followedBy: next.body['id'] },
    });
    const old = await ada.call('GET', `/v1/proposals/${id}`);
    expect(old.body).toMatchObject({ status: 'failed', continuedBy: next.body['id'] });
  });

  it('is compensated, and names what stays', async () => {
    const good = doing('good', async () => ({}));
    const { ada, executed } = await openProposalApi(database(), { tools: toolsWith(good) });
    const id = await executed([writing('one'), step(good)]);
    expect(await ada.to(id, 'compensate')).toMatchObject({
      status: 201,
      body: { cannotUndo: [{ step: 1, tool: 'bad.good', reason: 'It is for a test.' }] },
    });
    const other = await executed([step(good)]);
    expect(await ada.to(other, 'compensate')).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_do', cannotUndo: [{ step: 0 }] },
    });
    expect(await ada.to(other, 'continue')).toMatchObject({ body: { code: 'wrong_status' } });
  });
});

describe('a preview', () => {
  it('shows what each step would do, and leaves nothing', async () => {
    const { grace, proposed } = await openProposalApi(database(), { tools: toolsWith(broken) });
    const one = writing('previewed');
    const { id, planHash } = await proposed([one, step(broken), writing('never')]);
    expect(await grace.to(id, 'preview')).toMatchObject({
      status: 200,
      body: {
        ...{ id, planHash },
        steps: [
          { outcome: 'ok', sentence: expect.stringContaining('previewed') },
          { outcome: 'failed', error: expect.stringContaining('out of paper') },
          { outcome: 'not_reached' },
        ],
      },
    });
    const { id: note } = one.arguments as { readonly id: string };
    expect((await notes(database())).has(note)).toBe(false);
  });

  it('is one of few at once, and its place is free when it is over', async () => {
    const [gate, first, second] = [signal(), signal(), signal()];
    let calls = 0;
    const waits = doing('waits', async () => {
      calls += 1;
      (calls === 1 ? first : second).give();
      await gate.given;
      throw new Error('out of paper');
    });
    const { grace, proposed } = await openProposalApi(database(), { tools: toolsWith(waits) });
    const { id } = await proposed([step(waits)]);
    const one = grace.to(id, 'preview');
    await first.given;
    const two = grace.to(id, 'preview');
    await second.given;
    const three = await grace.to(id, 'preview');
    expect(three).toMatchObject({ status: 503, body: { code: 'preview_busy' } });
    expect(three.headers.get('retry-after')).toBe('1');
    gate.give();
    expect([(await one).status, (await two).status]).toEqual([200, 200]);
    expect((await grace.to(id, 'preview')).status).toBe(200);
  });
});

describe('the stream of a plan', () => {
  it('tells each step as it is committed, and ends with its end', async () => {
    const gate = signal();
    const waits = doing('waits', async () => {
      await gate.given;
    });
    const given = { tools: toolsWith(waits, broken) };
    const { grace, approved, follow } = await openProposalApi(database(), given);
    const id = await approved([writing('one'), step(waits), step(broken)]);
    const stream = await follow(id);
    expect(await stream.next()).toMatchObject({
      ...{ event: 'transition', id: '1' },
      data: { seq: 1, event: 'approve', actor: 'grace', from: 'pending', to: 'approved' },
    });
    await grace.to(id, 'execute');
    expect(await stream.next()).toMatchObject({ data: { event: 'execute', to: 'executing' } });
    const first = await stream.next();
    expect(first).toMatchObject({ event: 'step', data: { step: 0, outcome: 'ok' } });
    gate.give();
    expect(await stream.next()).toMatchObject({ event: 'step', data: { step: 1, output: null } });
    const last = await stream.next();
    expect(last).toMatchObject({ event: 'step', data: { step: 2, outcome: 'failed' } });
    const ended = { event: 'ended', id: last?.id, data: { status: 'failed' } };
    expect(await stream.next()).toMatchObject(ended);
    expect(await stream.next()).toBeUndefined();

    const again = await follow(id, first?.id);
    expect(await again.next()).toMatchObject({ event: 'step', data: { step: 1 } });
    expect(await again.next()).toEqual(last);
    expect(await again.next()).toMatchObject(ended);
    const behind = await follow(id, last?.id);
    expect(await behind.next()).toMatchObject(ended);
  });

  it('is refused behind what never happened', async () => {
    const { proposed, follow } = await openProposalApi(database());
    const { id } = await proposed([writing('one')]);
    for (const place of ['7', 'x', '-1']) {
      expect((await follow(id, place)).response.status, place).toBe(400);
    }
    expect((await follow(randomUUID())).response.status).toBe(404);
  });
});
