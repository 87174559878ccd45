// Transactions of one statement, whose COMMIT does not wait for it: what lands, what does not, and
// what their caller is told.

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import { claim, sweep } from '../../persistence/claims.ts';
import { CommitInDoubtError } from '../../persistence/connection.ts';
import { create } from '../../persistence/create.ts';
import { transaction } from '../../persistence/transaction.ts';
import { enqueue, force, letter, statusOf } from '../support/deliveries.ts';
import { fresh, opened, useOpened } from '../support/opened.ts';
import { freeConnections, pooled } from '../support/pooled.ts';
import { openProxy } from '../support/proxy.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();
const single = { single: true } as const;
const asked = { limit: 10, owner: 'w', lease_ms: 60_000 } as const;

/** Connections whose messages are written down. */
async function overheard(url: string) {
  const sent: string[] = [];
  class Overheard extends pg.Client {
    override query(...args: unknown[]): never {
      const [query] = args;
      if (typeof query === 'object' && query !== null && 'text' in query) {
        sent.push(String(query.text).split(' ')[0] ?? '');
      }
      return Reflect.apply(super.query, this, args) as never;
    }
  }
  const remote = await opened({ url, connections: 1, clientClass: Overheard });
  // The wake-up is no part of the transaction.
  return { remote, heard: () => sent.splice(0).filter((word) => word !== 'select') };
}

describe('a transaction of one statement', () => {
  it('sends BEGIN, the statement and COMMIT, and no savepoint', async () => {
    const { remote, heard } = await overheard(database().url);
    heard();
    const [id = ''] = await transaction(remote, (tx) => create(tx, outbox, [letter()]), single);
    expect(heard()).toEqual(['begin', 'insert', 'commit']);
    expect(await statusOf(database(), id)).toBe('pending');
    await transaction(remote, (tx) => claim(tx, outbox, 'claim', asked), single);
    expect(heard()).toEqual(['begin', 'set', 'with', 'commit']);
    await transaction(remote, (tx) => sweep(tx, outbox, 'lease.expired', { limit: 1 }), single);
    expect(heard()).toEqual(['begin', 'set', 'with', 'commit']);
  });

  it('leaves nothing behind where the statement fails', async () => {
    const remote = pooled({ url: database().url, connections: 1 });
    const [there, other] = [crypto.randomUUID(), crypto.randomUUID()];
    const write = (...ids: readonly string[]) =>
      transaction(
        remote,
        (tx) =>
          create(
            tx,
            outbox,
            ids.map((id) => letter({ id })),
          ),
        single,
      );
    await write(there);
    await expect(write(other, there)).rejects.toMatchObject({ code: '23505' });
    expect(await statusOf(database(), other)).toBeUndefined();
    expect(await freeConnections(remote)).toBe(1);
  });

  it('sets a poison row aside, and claims the others', async () => {
    const own = await fresh();
    const [bad = '', good = ''] = await enqueue(own, 2);
    // No claim can raise it any more.
    await force(own, bad, 'attempts = 2147483647');
    const runs = await transaction(own, (tx) => claim(tx, outbox, 'claim', asked), single);
    expect(runs.map(({ id }) => id)).toEqual([good]);
    const { rows } = await sql`select run from fencepost.quarantine`.execute(own.db);
    expect(rows).toEqual([{ run: bad }]);
  });

  it('refuses a second one, which nothing would take back', async () => {
    const twice = transaction(
      database(),
      async (tx) => {
        await create(tx, outbox, [letter()]);
        await sql`select 1`.execute(tx);
      },
      single,
    );
    await expect(twice).rejects.toThrow('after the last one');
  });

  it('is in doubt where the connection is lost, and the connection is not used again', async () => {
    const proxy = await openProxy(database().url);
    const remote = pooled({ url: proxy.url, connections: 1 });
    const pid = () => sql`select pg_backend_pid() as pid`.execute(remote.db);
    const first = await pid();
    const dropped = signal();
    void proxy.drop().then(dropped.give);
    const doubtful = transaction(remote, (tx) => create(tx, outbox, [letter()]), single);
    const doubt = expect(doubtful).rejects.toThrow(CommitInDoubtError);
    await dropped.given;
    proxy.cut();
    await doubt;
    expect((await pid()).rows).not.toEqual(first.rows);
    await remote.close().finally(() => proxy.close());
  });

  it('tells of a constraint that is judged at the commit', async () => {
    const own = await fresh();
    for (const statement of [
      `create function never() returns trigger language plpgsql as $$ begin
         raise exception 'never' using errcode = '23514'; end $$`,
      `create constraint trigger never after insert on fencepost.delivery
         deferrable initially deferred for each row execute function never()`,
    ]) {
      await sql.raw(statement).execute(own.db);
    }
    const failing = transaction(own, (tx) => create(tx, outbox, [letter()]), single);
    await expect(failing).rejects.toMatchObject({ code: '23514' });
  });
});
