// Workers against the fake Neon: every answer that it can give, and what comes of it. Nothing
// waits: the waits that the row asks for are recorded.

import { describe, expect, it } from 'vitest';
import { ownError } from '../../support/fake-neon.ts';
import { gate } from '../../support/mail-sink.ts';
import { fresh, useOpened } from '../../support/opened.ts';
import {
  ask,
  ended,
  fakeWithDev,
  forceRun,
  lapse,
  operating,
  providerOf,
  readRun,
  resetDev,
  settle,
  times,
} from '../../support/operations.ts';

const database = useOpened();

/** One reset on a fake that somebody prepared, worked on to its end. */
async function reset(prepare: (fake: Awaited<ReturnType<typeof fakeWithDev>>) => void) {
  const db = database();
  const fake = await fakeWithDev();
  prepare(fake);
  const provider = providerOf(fake);
  const id = await ask(db, provider);
  const workers = await operating(db, provider);
  const row = await ended(workers, db, id);
  return { ...workers, fake, id, row, database: db };
}

const posts = ({ journal }: Awaited<ReturnType<typeof fakeWithDev>>) =>
  journal.filter(({ kind }) => kind === 'restore').map(({ status }) => status);

describe('a reset', () => {
  it('is issued once, polled, and succeeds with the operations of the provider', async () => {
    const { row, fake } = await reset(() => undefined);
    expect(row).toMatchObject({ status: 'succeeded', outcome: 'ok', error: null });
    expect(row.operations).toMatchObject([{ action: 'create_branch', status: 'finished' }]);
    expect(posts(fake)).toEqual([200]);
  });

  it('goes on after "failed", which is not final, and counts it', async () => {
    const script = ['running', 'failed', 'running', 'finished'];
    const { row } = await reset((fake) => Object.assign(fake, { script }));
    expect(row.status).toBe('succeeded');
    expect(row.operations).toMatchObject([{ status: 'finished', failures: 1 }]);
  });

  it.each(['error', 'cancelled'])('fails where an operation ends as "%s"', async (word) => {
    const { row, fake } = await reset((each) => Object.assign(each, { script: ['running', word] }));
    expect(row).toMatchObject({ status: 'failed', outcome: 'failed' });
    expect(row.error).toContain(word);
    expect(posts(fake)).toEqual([200]);
  });

  it('polls on at a word that it does not know', async () => {
    const script = ['running', 'contemplating', 'finished'];
    const { row } = await reset((fake) => Object.assign(fake, { script }));
    expect(row.status).toBe('succeeded');
  });

  it.each(['before', 'after'] as const)(
    'ends with the last of operation and branch, which is ready %s it',
    async (readiness) => {
      const { row, fake } = await reset((each) => Object.assign(each, { readiness }));
      expect(row.status).toBe('succeeded');
      const lists = fake.journal.filter(({ kind }) => kind === 'branches').length;
      expect(lists).toBeGreaterThanOrEqual(readiness === 'after' ? 5 : 2);
    },
  );
});

describe('a refusal that is certain', () => {
  it('takes the intent back, waits, and asks again: 423 five times', async () => {
    const { row, fake, pauses } = await reset((each) =>
      each.rule('restore', { status: 423, body: ownError('locked') }, 5),
    );
    expect(row).toMatchObject({ status: 'succeeded', refusals: 5 });
    expect(posts(fake)).toEqual([423, 423, 423, 423, 423, 200]);
    expect(fake.issued()).toHaveLength(1);
    // 0.5 to 1 s, then up to 2, 4, 8 and 16 s.
    for (const [i, ms] of pauses.slice(0, 5).entries()) {
      expect(ms).toBeGreaterThanOrEqual(500);
      expect(ms).toBeLessThanOrEqual(1000 * 2 ** i);
    }
  });

  it('waits for as long as the provider asks, with signs of life in between', async () => {
    const { row, pauses, journal } = await reset((fake) =>
      fake.rule('restore', { status: 429, headers: { 'retry-after': '95' } }),
    ).then(async (all) => ({ ...all, journal: all.fake.journal }));
    expect(row.status).toBe('succeeded');
    const longest = times.leaseMs / 4;
    expect(pauses.slice(0, 4).map((ms) => Math.round(ms / 1000))).toEqual([30, 30, 30, 5]);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(longest);
    expect(journal.filter(({ kind }) => kind === 'restore')).toHaveLength(2);
  });

  it('is also 503 in the words of the provider', async () => {
    const { row, fake } = await reset((each) =>
      each.rule('restore', { status: 503, body: ownError('busy') }),
    );
    expect(row.status).toBe('succeeded');
    expect(posts(fake)).toEqual([503, 200]);
  });

  it.each([401, 403, 404, 422])('ends it as not issued: %d', async (status) => {
    const { row, fake } = await reset((each) =>
      each.rule('restore', { status, body: ownError('no, because') }),
    );
    expect(row).toMatchObject({ status: 'failed', outcome: 'not_issued', issued_at: null });
    expect(row.error).toContain('no, because');
    expect(fake.issued()).toEqual([]);
  });

  it('is a branch that is missing, a root, or one with children', async () => {
    const db = database();
    const fake = await fakeWithDev();
    fake.addBranch('leaf', 'dev');
    const provider = providerOf(fake);
    const workers = await operating(db, provider);
    for (const branch of ['gone', 'main', 'dev']) {
      const id = await ask(db, provider, { ...resetDev, branch });
      expect(await ended(workers, db, id)).toMatchObject({ outcome: 'not_issued' });
    }
    const kept = await ask(db, provider, { ...resetDev, keepAs: 'before' });
    expect(await ended(workers, db, kept)).toMatchObject({ status: 'succeeded' });
    expect(fake.names()).toContain('before');
  });
});

describe('an answer that is not certain', () => {
  const unclear = {
    'a 500 without a word': { status: 500 },
    'a 503 of somebody between': { status: 503, body: '<html>busy</html>' },
    'HTML where JSON belongs': { status: 200, body: '<html></html>' },
    '10 MB': { status: 200, body: `"${'x'.repeat(10 * 2 ** 20)}"` },
    'wrong types': { status: 200, body: '{"operations":[{"id":7}]}' },
    'no answer': 'cut',
  } as const;

  it.each(Object.entries(unclear))('never asks twice: %s', async (_, then) => {
    const db = database();
    const fake = await fakeWithDev();
    fake.rule('restore', then);
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    // What it may have started can appear until the intent has settled.
    let looks = 0;
    const onPause = async () => {
      looks += 1;
      if (looks === 5) await forceRun(db, id, settle);
    };
    const row = await ended(await operating(db, provider, { onPause }), db, id);
    expect(row).toMatchObject({ status: 'failed', outcome: 'unknown' });
    expect(row.error).toMatch(/Look there whether branch "dev" has any operation/);
    expect(looks).toBeGreaterThanOrEqual(5);
    expect(fake.journal.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
  });

  it('is found by the mark where it was applied and the answer was lost', async () => {
    const { row, fake } = await reset((each) => {
      each.addOperation('dev', 'create_branch', ['finished']);
      each.rule('restore', 'lost');
    });
    expect(row).toMatchObject({ status: 'succeeded', issue_mark: expect.stringMatching(/^op-/) });
    expect(row.operations).toHaveLength(1);
    expect(posts(fake)).toEqual([null]);
  });

  it('is not mistaken for what happens to a branch by itself', async () => {
    const db = database();
    const fake = await fakeWithDev();
    fake.rule('restore', 'cut');
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    let looks = 0;
    const onPause = async () => {
      looks += 1;
      if (looks === 1) fake.addOperation('dev', 'start_compute', ['finished']);
      if (looks === 3) await forceRun(db, id, settle);
    };
    const row = await ended(await operating(db, provider, { onPause }), db, id);
    expect(row).toMatchObject({ outcome: 'unknown', operations: null });
  });

  it('on a poll changes nothing: it is asked again, until the deadline', async () => {
    const { row, fake } = await reset((each) => {
      each.rule('operation', { status: 404, body: ownError('no such operation') }, 2);
      each.rule('operation', { status: 200, body: '<html>' });
      each.rule('operation', { status: 200, body: 'x'.repeat(2 ** 21) });
      each.rule('operation', 'cut');
      each.rule('operation', { status: 401, body: ownError('who?') });
    });
    expect(row).toMatchObject({ status: 'succeeded', last_error: null });
    expect(posts(fake)).toEqual([200]);
  });

  it('in a poll that never ends otherwise is unknown at the deadline', async () => {
    const db = database();
    const fake = await fakeWithDev();
    fake.script = ['running'];
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    let polls = 0;
    const onPause = async () => {
      polls += 1;
      if (polls === 4) await forceRun(db, id, `${settle}, deadline_at = now()`);
    };
    const row = await ended(await operating(db, provider, { onPause }), db, id);
    expect(row).toMatchObject({ status: 'failed', outcome: 'unknown' });
    expect(row.error).toMatch(/Look up there how the operations/);
    expect(posts(fake)).toEqual([200]);
  });

  it('keeps the deadline waiting until the call can no longer be on its way', async () => {
    const db = database();
    const fake = await fakeWithDev();
    fake.rule('restore', 'cut');
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    const seen: string[] = [];
    let looks = 0;
    const onPause = async () => {
      looks += 1;
      seen.push((await readRun(db, id)).status);
      if (looks === 1) await forceRun(db, id, 'deadline_at = now()');
      if (looks === 9) await forceRun(db, id, settle);
    };
    await ended(await operating(db, provider, { onPause }), db, id);
    expect(seen.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 'running'));
  });
});

describe('the owner', () => {
  it('lets go at once in a drain, and the next one goes on where it was', async () => {
    const db = database();
    const fake = await fakeWithDev();
    fake.script = ['running', 'running', 'running', 'finished'];
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    const stage = gate();
    const onPause = (_: number, signal: AbortSignal) => {
      void stage.pass();
      return new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const first = await operating(db, provider, { onPause });
    await stage.arrived;
    await first.runs.stop(3_600_000);
    expect(first.of('ended').at(-1)).toMatchObject({ event: 'release', outcome: 'applied' });
    const second = await operating(db, provider);
    expect(await ended(second, db, id)).toMatchObject({ status: 'succeeded' });
    expect(posts(fake)).toEqual([200]);
  });

  it('says nothing more after somebody took over during a slow poll', async () => {
    const db = database();
    const fake = await fakeWithDev();
    fake.script = ['running', 'running', 'finished'];
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    const stage = gate();
    let polls = 0;
    const slow = {
      ...provider,
      poll: async (...asked: Parameters<typeof provider.poll>) => {
        const answer = await provider.poll(...asked);
        polls += 1;
        if (polls === 1) await stage.pass();
        return answer;
      },
    };
    // It does not look for work again, so that it is not its own successor.
    const zombie = await operating(db, slow, { pollMs: 3_600_000 });
    await stage.arrived;
    await forceRun(db, id, lapse);
    const successor = await operating(db, provider);
    expect(await ended(successor, db, id)).toMatchObject({ status: 'succeeded' });
    const before = await readRun(db, id);
    stage.open();
    await zombie.seen('dropped');
    expect(zombie.of('ended')).toEqual([]);
    expect(await readRun(db, id)).toEqual(before);
    expect(posts(fake)).toEqual([200]);
  });

  it('is one of two workers, for each of many operations', async () => {
    const db = database();
    const fake = await fakeWithDev();
    const provider = providerOf(fake);
    const ids: string[] = [];
    for (let i = 0; i < 12; i += 1) {
      fake.addBranch(`branch ${i}`, 'main');
      ids.push(await ask(db, provider, { action: 'reset', branch: `branch ${i}` }));
    }
    const [a, b] = [await operating(db, provider), await operating(db, provider)];
    const over = () => a.of('ended').length + b.of('ended').length >= ids.length;
    await Promise.race([a.until(over), b.until(over)]);
    for (const id of ids) expect(await readRun(db, id)).toMatchObject({ status: 'succeeded' });
    expect(posts(fake)).toHaveLength(ids.length);
  });

  it('does not call once it stood still for longer than the send window', async () => {
    const db = await fresh();
    const fake = await fakeWithDev();
    const provider = providerOf(fake);
    const id = await ask(db, provider);
    const short = { ...times, sendWindowMs: -1 };
    const onPause = () => void workers.runs.stop(0);
    const workers = await operating(db, provider, { times: short, onPause });
    await workers.seen('ended');
    expect(posts(fake)).toEqual([]);
    expect(await readRun(db, id)).toMatchObject({
      status: 'running',
      issued_at: null,
      refusals: 1,
    });
    expect((await readRun(db, id)).last_error).toMatch(/stood still/);
  });
});
