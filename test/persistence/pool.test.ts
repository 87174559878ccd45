// The pool after something went wrong, at every place where it can: no connection is lost for good,
// and none that is broken is used again.

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { send } from '../../persistence/door.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { claimIn, enqueueIn } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { freeConnections, pooled } from '../support/pooled.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();

describe('the pool', () => {
  /** A client whose n-th statement goes wrong in the given way. */
  function failingAt(n: number, how: 'refused' | 'cut before' | 'cut after') {
    let sent = 0;
    class Failing extends pg.Client {
      override query(...args: unknown[]): never {
        const send = () => Reflect.apply(super.query, this, args) as Promise<unknown>;
        const cut = () => {
          (this as unknown as { connection: pg.Connection }).connection.stream.destroy();
        };
        sent += 1;
        if (sent !== n) return send() as never;
        if (how === 'refused') return Promise.reject(new Error('refused')) as never;
        if (how === 'cut before') cut();
        const answer = send();
        if (how === 'cut after') cut();
        return answer as never;
      }
    }
    return { Failing, count: () => sent };
  }

  const work = async (tx: Tx) => {
    await enqueueIn(tx, 2);
    const [run] = await claimIn(tx, 1);
    const { id = '', attempts: fence = 0 } = run ?? {};
    const outcome = await send(tx, outbox, 'release', { id, fence });
    await send(tx, outbox, 'release', { id, fence });
    return outcome.outcome;
  };

  it.each(['refused', 'cut before', 'cut after'] as const)(
    'is whole again wherever a transition is %s',
    async (how) => {
      const { Failing: Whole, count } = failingAt(0, how);
      const whole = pooled({ url: database().url, clientClass: Whole });
      expect(await transaction(whole, work)).toBe('applied');
      const statements = count();
      expect(statements).toBeGreaterThan(10);
      for (let n = 1; n <= statements; n += 1) {
        const { Failing } = failingAt(n, how);
        const broken = pooled({ url: database().url, connections: 1, clientClass: Failing });
        await expect(transaction(broken, work), `statement ${n}`).rejects.toThrow();
        expect(await transaction(broken, work), `after statement ${n}`).toBe('applied');
        expect(await freeConnections(broken)).toBe(1);
      }
    },
  );

  it('is whole again wherever the work throws', async () => {
    const single = pooled({ url: database().url, connections: 1 });
    const steps = [
      (tx: Tx) => enqueueIn(tx),
      (tx: Tx) => claimIn(tx, 1),
      (tx: Tx) => sql`select 1`.execute(tx),
    ];
    for (let n = 0; n <= steps.length; n += 1) {
      const throwing = transaction(single, async (tx) => {
        for (const step of steps.slice(0, n)) await step(tx);
        throw new Error(`after ${n}`);
      });
      await expect(throwing).rejects.toThrow(`after ${n}`);
      expect(await freeConnections(single)).toBe(1);
    }
    expect(single.pool.totalCount).toBe(1);
  });

  it('is whole again when work did not wait for its own statement', async () => {
    const single = pooled({ url: database().url, connections: 1 });
    const throwing = transaction(single, async (tx) => {
      void enqueueIn(tx).catch(() => undefined);
      throw new Error('too early');
    });
    await expect(throwing).rejects.toThrow('too early');
    expect(await transaction(single, work)).toBe('applied');
    expect(await freeConnections(single)).toBe(1);
  });

  it('loses all idle connections at once, says so, and makes new ones', async () => {
    const told: Error[] = [];
    const all = signal();
    const victim = await opened({
      url: database().url,
      applicationName: 'victim',
      connections: 3,
      onError: (error) => {
        told.push(error);
        if (told.length >= 3) all.give();
      },
    });
    let begun = 0;
    const three = signal();
    // Each holds its connection until all three have one.
    const hold = async (tx: Tx) => {
      await sql`select 1`.execute(tx);
      begun += 1;
      if (begun === 3) three.give();
      await three.given;
    };
    await Promise.all([1, 2, 3].map(() => transaction(victim, hold)));
    await sql`select pg_terminate_backend(pid, 10000) from pg_stat_activity
      where application_name = 'victim'`.execute(database().db);
    await all.given;
    expect(told.every((error) => error instanceof Error)).toBe(true);
    expect(await transaction(victim, work)).toBe('applied');
  });
});
