// Executors that stand still in the middle of a step, and come back: the row is free in time, the
// run is said to be interrupted, and who comes back commits nothing.

import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { lockProposal } from '../../../persistence/proposals.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { type Child, startChild } from '../../support/child.ts';
import { useOpened } from '../../support/opened.ts';
import { doing, step } from '../../support/plan-tools.ts';
import {
  approved,
  notes,
  planFindings,
  read,
  recovered,
  toolsWith,
  writing,
} from '../../support/plans.ts';

const limits = { lockMs: 15_000, statementMs: 15_000, idleMs: 16_000, transactionMs: 20_000 };
const database = useOpened({ limits });
const stalls = doing('stalls', async () => undefined);
const places = ['idle', 'statement', 'answer'];

describe('an executor that stands still in a step', () => {
  beforeAll(async () => {
    const name = new URL(database().url).pathname.slice(1);
    // A client that stopped in the middle of an answer is seen by nothing else.
    await sql`alter database ${sql.id(name)} set tcp_user_timeout = '1s'`.execute(database().db);
  });

  async function frozen(place: string): Promise<{ readonly id: string; readonly child: Child }> {
    const steps = [writing('kept'), step(stalls), writing('never')];
    const id = await approved(database(), toolsWith(stalls), steps);
    const file = join(import.meta.dirname, 'zombie.child.ts');
    return { id, child: startChild(file, [place, database().url, id]) };
  }

  it('loses the run, be it idle, in a statement or in an answer, and commits nothing', async () => {
    const zombies = await Promise.all(places.map(frozen));
    const after = await Promise.all(
      zombies.map(async ({ id, child }) => {
        expect(await child.line()).toBe('stopping');
        // Waits for whoever holds the row, longer than the zombie's limits let it hold it.
        const held = await transaction(database(), (tx) => lockProposal(tx, id));
        expect(held).toMatchObject({ status: 'executing', next_step: 1, open_step: null });
        await recovered(database(), id);
        const left = await read(database(), id);
        expect(left.row).toMatchObject({ status: 'failed', reason: 'interrupted', next_step: 1 });
        child.process.kill('SIGCONT');
        expect(await child.line()).toBe('lost');
        expect(await read(database(), id)).toEqual(left);
        return await planFindings(database(), id);
      }),
    );
    expect(after).toEqual([[], [], []]);
    const written = await notes(database());
    expect(zombies.filter(({ id }) => written.has(id))).toEqual([]);
  });
});
