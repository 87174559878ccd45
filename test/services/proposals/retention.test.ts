import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { startRetention } from '../../../services/deliveries/retention.ts';
import { reject } from '../../../services/proposals/decide.ts';
import { compensatePlan } from '../../../services/proposals/follow-up.ts';
import { proposalBatches } from '../../../services/proposals/retention.ts';
import { useOpened } from '../../support/opened.ts';
import { carriedOut, proposed, toolsWith, writing } from '../../support/plans.ts';

const database = useOpened();
const tools = toolsWith();

async function finishedDaysAgo(id: string, days: number): Promise<void> {
  await transaction(database(), async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`update fencepost.proposal
      set finished_at = now() - ${days}::int4 * interval '1 day' where id = ${id}::uuid`.execute(
      tx,
    );
  });
}

const left = async (table: string, column: string) => {
  const { rows } = await sql<{ id: string }>`
    select distinct ${sql.ref(column)} as id from fencepost.${sql.ref(table)}
    order by 1`.execute(database().db);
  return rows.map(({ id }) => id);
};

it('plans that ended 90 days ago go with all of theirs, but not what holds a place', async () => {
  const done = async (days: number) => {
    const { id } = await carriedOut(database(), tools, [writing(randomUUID())]);
    await finishedDaysAgo(id, days);
    return id;
  };
  const [old, young] = [await done(91), await done(89)];
  const undone = await done(89);
  const undoing = await transaction(database(), (tx) =>
    compensatePlan(tx, { tools, fourEyes: 'never' }, { id: undone, actor: 'ada' }),
  );
  if (undoing.outcome !== 'proposed') throw new Error(undoing.outcome);
  await transaction(database(), (tx) => reject(tx, { id: undoing.id, actor: 'grace' }));
  await finishedDaysAgo(undoing.id, 91);
  const { id: pending } = await proposed(database(), tools, [writing('x')]);

  const log = pino({ enabled: false });
  const retention = startRetention({ database: database(), log, more: proposalBatches });
  onTestFinished(retention.close);
  await retention.runOnce();
  const kept = [young, undone, undoing.id, pending].toSorted();
  expect(await left('proposal', 'id')).toEqual(kept);
  expect(await left('proposal_step', 'proposal')).toEqual(kept);
  expect(await left('proposal_receipt', 'proposal')).toEqual([young, undone].toSorted());
  expect(await left('journal', 'run')).toEqual([young, undone, undoing.id].toSorted());

  await finishedDaysAgo(undone, 91);
  await retention.runOnce();
  await retention.runOnce();
  expect(await left('proposal', 'id')).toEqual([young, pending].toSorted());
  expect(kept).not.toContain(old);
});
