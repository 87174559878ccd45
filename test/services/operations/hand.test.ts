import { describe, expect, it } from 'vitest';
import { dbops } from '../../../machines/dbops.ts';
import { claim } from '../../../persistence/claims.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { takeInHand } from '../../../services/operations/hand.ts';
import { useOpened } from '../../support/opened.ts';
import { ask } from '../../support/operations.ts';

const database = useOpened();

describe('an operation in hand', () => {
  it('says at once that something cannot be stored, and does not try again', async () => {
    await ask(database(), { name: 'fake' });
    const fields = { owner: 'me', lease_ms: 60_000, deadline_ms: 60_000 };
    const [run] = await transaction(database(), (tx) =>
      claim(tx, dbops, 'claim', { limit: 1, ...fields }),
    );
    if (!run) throw new Error('nothing was claimed');
    const { signal } = new AbortController();
    const extend = () => undefined;
    const hand = takeInHand(database(), run, { signal, remainingMs: () => 60_000, extend });
    const bad = { lease_ms: 60_000, error: 'a\u0000b', retry_after_ms: null };
    await expect(hand.send('troubled', bad)).rejects.toMatchObject({ code: 'unstorable' });
  });
});
