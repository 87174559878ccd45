import { describe, expect, it, vi } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { sweepAll } from '../../../services/runs/reaper.ts';
import { claimed, enqueue, force } from '../../support/deliveries.ts';
import { fresh } from '../../support/opened.ts';
import { recorder } from '../../support/recorder.ts';
import { keptLog, running, sending } from '../../support/runs.ts';
import { sick } from '../../support/sick-database.ts';

const lapsedRuns = async (database: Awaited<ReturnType<typeof fresh>>, count: number) => {
  await enqueue(database, count);
  for (const { id } of await claimed(database, count)) {
    await force(database, id, `lease_expires_at = now() - interval '1 second'`);
  }
};

const none = { works: [] } as const;

describe('the reaper', () => {
  it('goes on at once while batches are full, and logs a line a batch', async () => {
    const database = await fresh();
    await lapsedRuns(database, 25);
    const { until, of, lines } = await running(database, sending(), { ...none, reapBatch: 10 });
    await until(() => of('lapsed').length === 3);
    expect(of('lapsed').map(({ count }) => count)).toEqual([10, 10, 5]);
    const warned = lines.filter(({ msg }) => msg === 'the time of runs had come');
    expect(warned).toHaveLength(3);
    expect(warned[0]).toMatchObject({
      ...{ event: 'lease.expired', count: 10, to: { pending: 10 }, owners: { worker: 10 } },
    });
  });

  it('says of one sweep how many it moved', async () => {
    const database = await fresh();
    await lapsedRuns(database, 3);
    const { log } = keptLog();
    const options = { database, machine: outbox, batch: 2, log, observe: recorder().observe };
    expect(await sweepAll(options)).toBe(3);
    expect(await sweepAll(options)).toBe(0);
  });

  it('backs off by itself while the database is away, and resumes', async () => {
    const database = await fresh();
    await lapsedRuns(database, 1);
    const ill = sick(database);
    ill.refuse(new Error('away'), 2);
    const { seen, of } = await running(ill, sending(), none);
    await seen('lapsed');
    expect(of('away').map(({ by, failures }) => [by, failures])).toEqual([
      ['reaper', 1],
      ['reaper', 2],
    ]);
    await seen('resumed');
  });

  it('sleeps no longer than a timer can, which would be not at all', async () => {
    const database = await fresh();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const { runs, seen } = await running(database, sending({ notBefore: async () => Infinity }), {
      reapMs: 2 ** 40,
      pace: { pollMs: 2 ** 31 - 1 },
    });
    await seen('paused');
    await runs.stop(2 ** 40);
    const longest = Math.max(...timers.mock.calls.map(([, ms = 0]) => ms));
    timers.mockRestore();
    expect(longest).toBe(2 ** 31 - 1);
  });
});
