// The stream of one plan, by itself: when it ends, and what it leaves behind.

import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { reject } from '../../../services/proposals/decide.ts';
import { followPlan } from '../../../services/proposals/follow.ts';
import { useOpened } from '../../support/opened.ts';
import { proposed, toolsWith, writing } from '../../support/plans.ts';
import { signal as promised } from '../../support/signal.ts';

const database = useOpened();
const steps = [writing('one')];

async function rejected(): Promise<string> {
  const { id } = await proposed(database(), toolsWith(), steps);
  await transaction(database(), (tx) => reject(tx, { id, actor: 'grace' }));
  return id;
}

async function collected<T>(events: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const unwatched = { watch: () => () => undefined };

describe('the stream of a plan', () => {
  it('ends with its last transition', async () => {
    const id = await rejected();
    const { signal } = new AbortController();
    const options = { database: database(), executor: unwatched, pauseMs: 60_000 };
    const told = await collected(followPlan(options, { id, after: 0, signal }));
    expect(told).toMatchObject([
      { event: 'transition', seq: 1 },
      { event: 'ended', seq: 1, status: 'rejected' },
    ]);
  });

  it('ends also where the journal was dropped before the plan', async () => {
    const id = await rejected();
    await transaction(database(), async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`delete from fencepost.journal where run = ${id}::uuid`.execute(tx);
    });
    const { signal } = new AbortController();
    const options = { database: database(), executor: unwatched, pauseMs: 60_000 };
    const told = await collected(followPlan(options, { id, after: 0, signal }));
    expect(told).toMatchObject([{ event: 'ended', seq: 1, status: 'rejected' }]);
  });

  it('leaves nothing on its signal for each time that it looks', async () => {
    const { id } = await proposed(database(), toolsWith(), steps);
    const leaving = new AbortController();
    const { signal } = leaving;
    const joined = vi.spyOn(AbortSignal, 'any');
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const looked = promised();
    let looks = 0;
    const watch = () => {
      looks += 1;
      if (looks === 5) looked.give();
      return () => undefined;
    };
    const options = { database: database(), executor: { watch }, pauseMs: 1 };
    const all = collected(followPlan(options, { id, after: 0, signal }));
    await looked.given;
    leaving.abort();
    expect(await all).toEqual([]);
    expect(added.mock.calls.length).toBeGreaterThanOrEqual(5);
    expect(removed.mock.calls).toEqual(added.mock.calls);
    expect(joined).not.toHaveBeenCalled();
    joined.mockRestore();
  });
});
