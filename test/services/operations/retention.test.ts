import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startRetention } from '../../../services/deliveries/retention.ts';
import { operationBatches } from '../../../services/operations/retention.ts';
import { useOpened } from '../../support/opened.ts';
import { ask, forceRun } from '../../support/operations.ts';

const database = useOpened();

it('operations that finished 90 days ago go, and the newest of each branch stays', async () => {
  const ids: string[] = [];
  for (const branch of ['old', 'young', 'live']) {
    ids.push(await ask(database(), { name: 'somewhere' }, { action: 'reset', branch }));
  }
  const [old = '', young = '', live = ''] = ids;
  const finished = (days: number) =>
    `status = 'succeeded', finished_at = now() - interval '${days} days'`;
  await forceRun(database(), old, finished(91));
  await forceRun(database(), young, finished(89));
  await sql`insert into fencepost.branch_operation (action, branch, status, updated_at)
    select 'reset', branch, 'finished', now() - interval '91 days'
    from unnest(array['a', 'a', 'b']) branch`.execute(database().db);
  const log = pino({ enabled: false });
  const retention = startRetention({ database: database(), log, more: operationBatches });
  onTestFinished(retention.close);
  await retention.runOnce();
  const left = await database().db.selectFrom('fencepost.operation').select('id').execute();
  expect(new Set(left.map(({ id }) => id))).toEqual(new Set([young, live]));
  const { rows } = await sql<{ branch: string }>`
    select branch from fencepost.branch_operation order by 1`.execute(database().db);
  expect(rows.map(({ branch }) => branch)).toEqual(['a', 'b']);
});
