// Transactions whose connection, process or time is lost: what the caller is told, and what becomes
// of the row's lock.

import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { CommitInDoubtError } from '../../persistence/connection.ts';
import { send } from '../../persistence/door.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { startChild } from '../support/child.ts';
import { claimedOne, enqueueIn, statusOf } from '../support/deliveries.ts';
import { useOpened } from '../support/opened.ts';
import { freeConnections, pooled } from '../support/pooled.ts';
import { openProxy } from '../support/proxy.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();

const pidOf = async (tx: Tx): Promise<number> => {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
  return rows[0]?.pid ?? 0;
};
const terminate = (pid: number) =>
  sql`select pg_terminate_backend(${pid}::int4, 10000)`.execute(database().db);
const lockRow = (tx: Tx, id: string) =>
  sql`select 1 from fencepost.delivery where id = ${id}::uuid for no key update`.execute(tx);

describe('a server that cannot be heard any more', () => {
  const limits = { lockMs: 100, statementMs: 200, idleMs: 300, transactionMs: 400 };

  it.each(['in a transaction', 'outside of one'])('ends the wait of who asks %s', async (where) => {
    const proxy = await openProxy(database().url);
    const remote = pooled({ url: proxy.url, connections: 1, limits });
    const ask = (db: typeof remote.db | Tx) => sql`select 1`.execute(db);
    await ask(remote.db);
    const within = () =>
      transaction(remote, async (tx) => {
        await ask(tx);
        proxy.hold();
        await ask(tx);
      });
    const alone = async () => {
      proxy.hold();
      await ask(remote.db);
    };
    const asked = where === 'outside of one' ? alone : within;
    await expect(asked()).rejects.toThrow('longer than its limit');
    proxy.release();
    await ask(remote.db);
    await remote.close().finally(() => proxy.close());
  });
});

describe('the answer to COMMIT, lost', () => {
  it('is in doubt, though it took effect, and the connection is not used again', async () => {
    const proxy = await openProxy(database().url);
    const remote = pooled({ url: proxy.url, connections: 1 });
    let id = '';
    let first = 0;
    const dropped = signal();
    const committing = transaction(remote, async (tx) => {
      first = await pidOf(tx);
      [id = ''] = await enqueueIn(tx);
      void proxy.drop().then(dropped.give);
    });
    const doubt = expect(committing).rejects.toThrow(CommitInDoubtError);
    await dropped.given;
    proxy.cut();
    await doubt;
    expect(await statusOf(database(), id)).toBe('pending');
    expect(await transaction(remote, pidOf)).not.toBe(first);
    expect(await freeConnections(remote)).toBe(1);
    await remote.close().finally(() => proxy.close());
  });

  it('is in doubt when the session is ended while it commits', async () => {
    const committing = signal<unknown>();
    class Noticing extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super(config);
        this.on('notice', committing.give);
      }
    }
    const remote = pooled({ url: database().url, connections: 1, clientClass: Noticing });
    let pid = 0;
    await transaction(database(), async (holder) => {
      await sql`select pg_advisory_xact_lock(4711)`.execute(holder);
      const doubtful = transaction(remote, async (tx) => {
        pid = await pidOf(tx);
        await sql`insert into slow_commit values (1)`.execute(tx);
      });
      const doubt = expect(doubtful).rejects.toThrow(CommitInDoubtError);
      await committing.given;
      await terminate(pid);
      await doubt;
    });
    expect(await transaction(remote, pidOf)).not.toBe(pid);
    expect(await freeConnections(remote)).toBe(1);
  });

  beforeAll(async () => {
    const statements = [
      'create table slow_commit (n int)',
      `create function wait_at_commit() returns trigger language plpgsql as $$ begin
         raise notice 'committing';
         perform pg_advisory_xact_lock(4711);
         return null; end $$`,
      `create constraint trigger slow after insert on slow_commit deferrable initially deferred
         for each row execute function wait_at_commit()`,
    ];
    for (const statement of statements) await sql.raw(statement).execute(database().db);
  });

  it('is no doubt where COMMIT was never sent', async () => {
    const remote = pooled({ url: database().url, connections: 1 });
    let id = '';
    const failing = transaction(remote, async (tx) => {
      [id = ''] = await enqueueIn(tx);
      await terminate(await pidOf(tx));
    });
    await expect(failing).rejects.toMatchObject({ code: '57P01' });
    expect(await statusOf(database(), id)).toBeUndefined();
    expect(await transaction(remote, pidOf)).toBeGreaterThan(0);
    expect(await freeConnections(remote)).toBe(1);
  });
});

describe('a transaction that exceeds its limit', () => {
  const limits = { lockMs: 5000, statementMs: 5000, idleMs: 10_000, transactionMs: 150 };

  it.each([160_000, 180_000])('is ended, its locks with it, on a server of %d', async (version) => {
    const { id } = await claimedOne(database());
    const remote = pooled({
      url: database().url,
      connections: 1,
      limits,
      serverVersion: version,
      onError: () => undefined,
    });
    const failing = transaction(remote, async (tx) => {
      await lockRow(tx, id);
      // Waits until the row is free again, which is when this transaction is no more.
      await transaction(database(), (other) => lockRow(other, id));
      await sql`select 1`.execute(tx);
    });
    const told = version < 170_000 ? /longer than its limit/ : /transaction timeout/;
    await expect(failing).rejects.toThrow(told);
    expect(await transaction(remote, pidOf)).toBeGreaterThan(0);
    expect(await freeConnections(remote)).toBe(1);
  });

  it('is ended by the idle limit while its client does nothing', async () => {
    const { id } = await claimedOne(database());
    const idle = { ...limits, idleMs: 100, transactionMs: 20_000 };
    const remote = pooled({ url: database().url, connections: 1, limits: idle });
    const failing = transaction(remote, async (tx) => {
      await lockRow(tx, id);
      await transaction(database(), (other) => lockRow(other, id));
      await sql`select 1`.execute(tx);
    });
    await expect(failing).rejects.toMatchObject({ code: '25P03' });
    expect(await freeConnections(remote)).toBe(1);
  });

  it('is ended though its process is stopped, which goes on when it is resumed', async () => {
    const { id, attempts: fence } = await claimedOne(database());
    const idle = { ...limits, idleMs: 200, transactionMs: 20_000 };
    const argument = { url: database().url, id, limits: idle };
    const holder = startChild(join(import.meta.dirname, 'holder.child.ts'), [
      JSON.stringify(argument),
    ]);
    expect(await holder.line()).toBe('held');
    holder.process.kill('SIGSTOP');
    const sent = await transaction(database(), (tx) => send(tx, outbox, 'sent', { id, fence }));
    expect(sent.outcome).toBe('applied');
    holder.process.kill('SIGCONT');
    holder.process.stdin?.write('go\n');
    expect(await holder.line()).toBe('failed 25P03');
    expect(await holder.line()).toBe('goes on');
    expect(await holder.exit).toMatchObject({ code: 0 });
  });
});

it('a connection that is lost while its statement runs does not end the process', async () => {
  const victim = pooled({ url: database().url, connections: 1 });
  await transaction(database(), async (holder) => {
    await sql`select pg_advisory_xact_lock(4712)`.execute(holder);
    let pid = 0;
    const failing = transaction(victim, async (tx) => {
      pid = await pidOf(tx);
      const waiting = sql`select pg_advisory_xact_lock(4712)`.execute(tx);
      await Promise.all([waiting, terminate(pid)]);
    });
    await expect(failing).rejects.toMatchObject({ code: '57P01' });
    expect(await transaction(victim, pidOf)).not.toBe(pid);
  });
  expect(await freeConnections(victim)).toBe(1);
});
