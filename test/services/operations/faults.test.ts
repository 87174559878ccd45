// Faults that other systems had with work that runs elsewhere, each provoked here: a branch that
// stays as a dead worker left it, a provider that is locked for long, an answer that is given only
// once, and a poll that says nothing.

import { describe, expect, it } from 'vitest';
import { dbops } from '../../../machines/dbops.ts';
import { claim, sweep } from '../../../persistence/claims.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { cancelOperation, requestChange } from '../../../services/operations/request.ts';
import { ownError } from '../../support/fake-neon.ts';
import { useOpened } from '../../support/opened.ts';
import {
  ask,
  ended,
  fakeWithDev,
  forceRun,
  operating,
  providerOf,
  readRun,
  resetDev,
  settle,
  times,
} from '../../support/operations.ts';

const database = useOpened();

/** What a worker had done when it was killed, and what becomes of it with nobody to succeed it. */
const left = {
  claimed: { outcome: 'not_issued', steps: [] },
  intended: { outcome: 'unknown', steps: ['intend'] },
  issued: { outcome: 'unknown', steps: ['intend', 'issued'] },
  polled: { outcome: 'unknown', steps: ['intend', 'issued', 'polled'] },
} as const;

async function leftBehind(
  name: string,
  steps: readonly ('intend' | 'issued' | 'polled')[],
): Promise<string> {
  const id = await ask(database(), { name });
  const db = database();
  const fields = { owner: 'killed', lease_ms: 60_000, deadline_ms: 60_000 };
  await transaction(db, (tx) => claim(tx, dbops, 'claim', { limit: 1, where: { id }, ...fields }));
  const operation = { id: 'op', action: 'a', status: 'running', failures: 0 };
  const operations = [{ ...operation, createdAt: null, updatedAt: null, detail: null }];
  const owned = { id, fence: 1, lease_ms: 60_000 };
  for (const step of steps) {
    await transaction(db, (tx) =>
      step === 'intend'
        ? send(tx, dbops, 'intend', { ...owned, issue_mark: null, settle_ms: 1000 })
        : send(tx, dbops, step, { ...owned, operations }),
    );
  }
  return id;
}

describe('a branch whose worker died', () => {
  it.each(Object.entries(left))(
    'is free again by the reaper alone, by no other hand, after it was %s',
    async (name, { outcome, steps }) => {
      const id = await leftBehind(name, steps);
      await forceRun(database(), id, `${settle}, deadline_at = now()`);
      await transaction(database(), (tx) => sweep(tx, dbops, 'deadline', { limit: 100 }));
      expect(await readRun(database(), id)).toMatchObject({ status: 'failed', outcome });
      expect(await ask(database(), { name })).toEqual(expect.any(String));
    },
  );

  it('is free again by a declared transition of an operator while nothing was issued', async () => {
    const queued = await ask(database(), { name: 'queued' });
    const claimed = await leftBehind('canceled', []);
    for (const id of [queued, claimed]) {
      const cancel = () => transaction(database(), (tx) => cancelOperation(tx, id, 'grace'));
      expect(await cancel()).toMatchObject({ outcome: 'canceled' });
    }
    const live = Object.entries(dbops.states).filter(([, state]) => !('type' in state));
    const ways = live.map(([status, { on }]) => [status, Object.keys(on ?? {})] as const);
    for (const [status, events] of ways) {
      expect(
        ['cancel', 'deadline'].filter((each) => events.includes(each)),
        status,
      ).not.toEqual([]);
    }
    expect(ways).toHaveLength(2);
  });
});

describe('a provider that is locked for a minute', () => {
  it('is asked again until it takes the call, and the lease never runs out meanwhile', async () => {
    const db = database();
    const fake = await fakeWithDev();
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    const leases: number[] = [];
    let waitedMs = 0;
    const locked = { status: 423, body: ownError('locked') };
    fake.rule('restore', locked, 1000);
    const onPause = async (ms: number) => {
      waitedMs += ms;
      leases.push((await readRun(db, id)).lease_expires_at ?? 0);
      if (waitedMs >= 60_000) fake.forget('restore');
    };
    const { of, ...workers } = await operating(db, provider, { onPause });
    const row = await ended({ ...workers, of }, db, id);
    expect(waitedMs).toBeGreaterThanOrEqual(60_000);
    expect(row).toMatchObject({ status: 'succeeded', fence: 1 });
    expect(row.refusals).toBeGreaterThanOrEqual(4);
    expect(fake.issued()).toHaveLength(1);
    // Each sign of life is a new lease, and no wait between two is as long as one.
    expect(leases.every((each, i) => i === 0 || each > (leases[i - 1] ?? 0))).toBe(true);
    expect(Math.max(...workers.pauses)).toBeLessThanOrEqual(times.leaseMs / 4);
    expect(of('lost')).toEqual([]);
  });
});

describe('a poll that settles nothing', () => {
  const gone = { status: 404, body: ownError('no such operation') };
  const polls = {
    '404 after "running"': [gone],
    'no answer in time': ['hang'],
    'a cut connection, a page, then 404 for good': ['cut', { status: 200, body: '<p>' }, gone],
  } as const;

  it.each(Object.entries(polls))(
    'neither ends the operation nor starts a second one, and is unknown at last: %s',
    async (_, rules) => {
      const db = database();
      const fake = await fakeWithDev();
      fake.script = ['running'];
      const provider = providerOf(fake, 250);
      const id = await ask(db, provider);
      let rests = 0;
      const others: string[] = [];
      const onPause = async () => {
        rests += 1;
        if (rests === 2) for (const each of rules) fake.rule('operation', each, 1000);
        if (rests < 3) return;
        // Whoever asks for the branch meanwhile is told of the operation that has it.
        const asking = { actor: 'bob', idempotencyKey: `${id} ${rests}`, change: resetDev };
        others.push((await requestChange(db, provider, asking)).outcome);
        if (rests === 5) await forceRun(db, id, `${settle}, deadline_at = now()`);
      };
      const row = await ended(await operating(db, provider, { onPause }), db, id);
      expect(row).toMatchObject({ status: 'failed', outcome: 'unknown' });
      expect(row.error).toContain('Look up there');
      expect(row.last_error).not.toBeNull();
      expect(others.slice(0, 3)).toEqual(['in_flight', 'in_flight', 'in_flight']);
      expect(fake.journal.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
    },
  );
});
