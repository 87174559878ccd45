// Plans that are alike or asked for at once, and claims that came to nothing: what one of them is
// told or loses must not be the other's.

import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { compensatePlan } from '../../../services/proposals/follow-up.ts';
import { fresh, useOpened } from '../../support/opened.ts';
import {
  approved,
  approvedOne,
  carriedOut,
  executing,
  proposed,
  read,
  toolsWith,
  writing,
} from '../../support/plans.ts';
import { signal } from '../../support/signal.ts';

const database = useOpened();
const tools = toolsWith();
const policy = { tools, fourEyes: 'never' } as const;

describe('two plans of the same steps', () => {
  it('have one hash, and each its own approval', async () => {
    const steps = [writing('twin')];
    const [one, other] = await Promise.all([1, 2].map(() => proposed(database(), tools, steps)));
    if (!one || !other) throw new Error('there are two');
    expect(one.planHash).toBe(other.planHash);
    expect(one.id).not.toBe(other.id);
    await approvedOne(database(), one.id, one.planHash);
    const { row } = await read(database(), other.id);
    expect([row.status, row.plan_hash]).toEqual(['pending', one.planHash]);
    const { row: first } = await read(database(), one.id);
    expect([first.status, first.plan_hash]).toEqual(['approved', one.planHash]);
  });
});

describe('a compensation', () => {
  it('is there for who asks second when the first one is rolled back', async () => {
    const { id } = await carriedOut(database(), tools, [writing('undone')]);
    const [made, goOn] = [signal(), signal()];
    const asking = (then: () => Promise<void>) =>
      transaction(database(), async (tx) => {
        const outcome = await compensatePlan(tx, policy, { id, actor: 'ada' });
        await then();
        return outcome;
      });
    const first = asking(async () => {
      made.give();
      await goOn.given;
      throw new Error('rolled back');
    });
    await made.given;
    const second = asking(async () => undefined);
    goOn.give();
    await expect(first).rejects.toThrow('rolled back');
    expect(await second).toMatchObject({ outcome: 'proposed' });
  });
});

describe('a claim whose second statement fails', () => {
  it('leaves the plan approved, and its place free', async () => {
    const given = await fresh();
    const id = await approved(given, tools, [writing('later')]);
    const executor = executing(given, tools, { concurrency: 1 });
    const rename = (from: string, to: string) =>
      sql.raw(`alter table fencepost.${from} rename to ${to}`).execute(given.db);
    await rename('proposal_step', 'hidden');
    await expect(executor.execute(id, 'grace')).rejects.toMatchObject({ code: '42P01' });
    expect((await read(given, id)).row.status).toBe('approved');
    await rename('hidden', 'proposal_step');
    expect(await executor.execute(id, 'grace')).toMatchObject({ outcome: 'started' });
    expect(await executor.ended(id)).toMatchObject({ end: 'executed' });
  });
});
