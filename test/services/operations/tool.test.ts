// The tool `branch.reset`, by the real executor: the operation exists exactly when the step's
// receipt does.

import { describe, expect, it } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { enqueueChange } from '../../../services/operations/request.ts';
import { branchTool } from '../../../services/operations/tool.ts';
import { preview } from '../../../services/proposals/preview.ts';
import { useOpened } from '../../support/opened.ts';
import { ended, fakeWithDev, operating, providerOf } from '../../support/operations.ts';
import { doing, step } from '../../support/plan-tools.ts';
import { approved, carriedOut, executing, read, toolsWith } from '../../support/plans.ts';

const database = useOpened();
const resetting = (branch: string, more = {}) => ({
  tool: 'branch.reset',
  arguments: { branch, ...more },
});

async function given() {
  const fake = await fakeWithDev();
  const provider = providerOf(fake);
  const tool = branchTool(provider);
  const fails = doing('fails', async () => {
    throw new Error('no');
  });
  return { fake, provider, tool, fails, tools: toolsWith(tool, fails) };
}

const operationsOf = (provider: string) =>
  database()
    .db.selectFrom('fencepost.operation')
    .select(['id', 'principal', 'request', 'status'])
    .where('provider', '=', provider)
    .execute();

describe('a plan', () => {
  it('resets a branch: its step enqueues the operation that its receipt names', async () => {
    const { fake, provider, tools } = await given();
    const { end, receipts } = await carriedOut(database(), tools, [
      resetting('dev', { keepAs: 'before' }),
    ]);
    expect(end).toBe('executed');
    const [operation] = await operationsOf(provider.name);
    expect(operation).toMatchObject({
      ...{ principal: 'ada', status: 'queued' },
      request: { action: 'reset', branch: 'dev', keepAs: 'before' },
    });
    expect(JSON.parse(receipts[0]?.output ?? '')).toEqual({ operation: operation?.id });
    const workers = await operating(database(), provider);
    const row = await ended(workers, database(), operation?.id ?? '');
    expect([row.status, fake.names().includes('before')]).toEqual(['succeeded', true]);
  });

  it('that is previewed, or fails in that step, enqueues nothing', async () => {
    const { provider, tools } = await given();
    const id = await approved(database(), tools, [resetting('dev')]);
    const options = { database: database(), tools, previewMs: 10_000 };
    expect(await preview(options, { id, actor: 'grace' })).toMatchObject({ outcome: 'previewed' });
    expect(await operationsOf(provider.name)).toEqual([]);
    const broken = { ...provider, name: `${provider.name} broken` };
    const tool = branchTool(broken);
    const then = toolsWith({
      ...tool,
      async run(...given) {
        await tool.run(...given);
        throw new Error('after it was enqueued');
      },
    });
    const { end } = await carriedOut(database(), then, [resetting('dev')]);
    expect(end).toBe('failed');
    expect(await operationsOf(broken.name)).toEqual([]);
  });

  it('keeps what an earlier step enqueued when a later one fails', async () => {
    const { provider, fails, tools } = await given();
    const { end } = await carriedOut(database(), tools, [resetting('dev'), step(fails)]);
    expect(end).toBe('failed');
    expect(await operationsOf(provider.name)).toHaveLength(1);
  });

  it('names the operation that has the branch', async () => {
    const { provider, tools } = await given();
    const change = { action: 'reset', branch: 'dev' } as const;
    const asking = { actor: 'bob', idempotencyKey: provider.name, change };
    const { id } = await transaction(database(), (tx) => enqueueChange(tx, provider, asking));
    const { end, receipts } = await carriedOut(database(), tools, [resetting('dev')]);
    expect(end).toBe('failed');
    expect(receipts[0]?.error).toContain(`operation ${id} has the branch "dev"`);
  });

  it('that asks for a branch at the same time as another one leaves one operation', async () => {
    const { provider, tools } = await given();
    const ids = await Promise.all(
      [1, 2, 3, 4].map(() => approved(database(), tools, [resetting('dev')])),
    );
    const executor = executing(database(), tools);
    await Promise.all(ids.map((id) => executor.execute(id, 'grace')));
    await Promise.all(ids.map((id) => executor.ended(id)));
    const all = await Promise.all(ids.map((id) => read(database(), id)));
    const [operation, ...others] = await operationsOf(provider.name);
    expect(others).toEqual([]);
    const failed = all.filter(({ row }) => row.status === 'failed');
    expect(failed).toHaveLength(ids.length - 1);
    for (const { receipts } of failed) {
      expect(receipts[0]?.error).toContain(`operation ${operation?.id} has the branch`);
    }
  });
});

describe('branch.reset', () => {
  it('has no inverse, and says what became of what was there', async () => {
    const { tool } = await given();
    const output = { operation: 'o' };
    expect(tool.inverse({ arguments: { branch: 'dev' }, output })).toEqual({
      reason: 'What was in the branch “dev” before cannot be put back. It was not kept.',
    });
    expect(tool.inverse({ arguments: { branch: 'dev', keepAs: 'old' }, output })).toMatchObject({
      reason: expect.stringContaining('kept in “old”'),
    });
  });

  it.each(['', 'two\nlines', 'nul\u0000'])(
    'is not proposed for a name such as %j',
    async (branch) => {
      const { tool } = await given();
      expect(tool.input.safeParse({ branch }).success).toBe(false);
    },
  );
});
