// The end of a step, whose commit goes with it: what is not closed is not committed.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { proposal } from '../../machines/proposal.ts';
import { claim } from '../../persistence/claims.ts';
import { insertNote } from '../../persistence/notes.ts';
import { closeStep, openStep } from '../../persistence/steps.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { useOpened } from '../support/opened.ts';
import { approved, notes, read, toolsWith, writing } from '../support/plans.ts';

const database = useOpened();

/** Carries out the first step of a plan, between whose ends this is done. */
async function stepWith(work: (tx: Tx, note: string) => Promise<unknown>) {
  const id = await approved(database(), toolsWith(), [writing('one'), writing('two')]);
  const note = randomUUID();
  const lease = { owner: 'me', lease_ms: 60_000, executed_by: 'me' };
  await transaction(database(), (tx) =>
    claim(tx, proposal, 'execute', { limit: 1, where: { id }, ...lease }),
  );
  const ending = transaction(database(), async (tx) => {
    await openStep(tx, { id, fence: 1, step: 0 });
    await work(tx, note);
    await closeStep(tx, { id, fence: 1, step: 0, leaseMs: 60_000, output: null });
  });
  return { id, note, ending };
}

describe('the end of a step', () => {
  it('is committed with what was done in it', async () => {
    const { id, note, ending } = await stepWith((tx, own) => insertNote(tx, own, 'effect'));
    await ending;
    expect((await notes(database())).has(note)).toBe(true);
    expect(await read(database(), id)).toMatchObject({ row: { next_step: 1 }, outcomes: ['ok'] });
  });

  it.each([
    ['rolled back', ['rollback']],
    ['rolled back, and another one begun', ['rollback', 'begin']],
  ])('is an error where its transaction was %s, and nothing is committed', async (_, said) => {
    const { id, note, ending } = await stepWith(async (tx, own) => {
      for (const text of said) await sql.raw(text).execute(tx);
      if (said.length > 1) await insertNote(tx, own, 'effect');
    });
    await expect(ending).rejects.toMatchObject({ code: 'transaction_ended' });
    expect((await notes(database())).has(note)).toBe(false);
    expect(await read(database(), id)).toMatchObject({ row: { next_step: 0 }, outcomes: [] });
  });
});
