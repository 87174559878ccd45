// What is over, deleted in batches: until nothing is left of a kind, whatever became of another.

import { describe, expect, it } from 'vitest';
import { deletingIn } from '../../services/batches.ts';
import { useOpened } from '../support/opened.ts';

const database = useOpened();
const never = new AbortController().signal;

/** A batch that says these, one after the other. */
function saying<T>(...answers: readonly T[]) {
  let calls = 0;
  const batch = async () => {
    const answer = answers[calls];
    calls += 1;
    if (answer === undefined) throw new Error('it was asked once too often');
    return answer;
  };
  return { batch, calls: () => calls };
}

const deleting = (batches: Parameters<typeof deletingIn>[1], closing = never) =>
  deletingIn({ database: database(), limit: 2 }, batches)(closing);

describe('deleting in batches', () => {
  it('goes on for as long as a batch is full, by what it looked at', async () => {
    const [a, b] = [saying(2, 2, 1), saying({ looked: 2, deleted: 0 }, { looked: 1, deleted: 1 })];
    expect(await deleting({ a: a.batch, b: b.batch })).toEqual({ a: 5, b: 1 });
    expect([a.calls(), b.calls()]).toEqual([3, 2]);
  });

  it('tries every kind before it says what failed', async () => {
    const broken = new Error('it cannot be');
    const [before, behind] = [saying(0), saying(1)];
    const kinds = { before: before.batch, broken: () => Promise.reject(broken), b: behind.batch };
    await expect(deleting(kinds)).rejects.toMatchObject({ errors: [broken] });
    expect([before.calls(), behind.calls()]).toEqual([1, 1]);
  });

  it('deletes nothing more once it is closed', async () => {
    const closing = new AbortController();
    const after = saying(1);
    async function last() {
      closing.abort();
      return 2;
    }
    expect(await deleting({ last, after: after.batch }, closing.signal)).toEqual({
      last: 2,
      after: 0,
    });
    expect(after.calls()).toBe(0);
  });
});
