// The stream of all runs of a machine: whole, in order, and never past a transaction that is open.
//
// - It has a server of its own: whatever is open anywhere on a server holds the stream up, and that
//   of the run has the other test files.

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Database, DatabaseOptions } from '../../persistence/database.ts';
import { send } from '../../persistence/door.ts';
import type { EmbeddedPostgres } from '../../persistence/embedded-postgres.ts';
import { readJournal } from '../../persistence/journal.ts';
import { transaction } from '../../persistence/transaction.ts';
import {
  presentPlace,
  readTransitions,
  type StreamPlace,
  type Transition,
} from '../../persistence/transitions.ts';
import { cloneTemplate } from '../support/database.ts';
import { claimed, claimedOne, claimIn, enqueue } from '../support/deliveries.ts';
import { opened } from '../support/opened.ts';
import { startThrowawayPostgres } from '../support/throwaway-postgres.ts';

const beginning: StreamPlace = { xact: '0', run: '00000000-0000-0000-0000-000000000000', seq: 0 };

let server: EmbeddedPostgres;
beforeAll(async () => {
  // An ANALYZE that begins by itself is a transaction like any other.
  server = await startThrowawayPostgres({ autovacuum: 'off' });
});
afterAll(() => server?.stop());

/** A database of its own, on this file's server, for one test. */
async function fresh(options: Omit<DatabaseOptions, 'url'> = {}): Promise<Database> {
  const { url, drop } = await cloneTemplate(server.url);
  onTestFinished(drop);
  return await opened({ url, ...options });
}

/** Reads on until nothing more is found. */
async function readAll({ db }: Database, from = beginning, limit = 100) {
  const found: Transition[] = [];
  let after = from;
  for (;;) {
    const page = await readTransitions(db, outbox, { after, limit });
    found.push(...page.transitions);
    after = page.next;
    if (page.transitions.length < limit) return { found, after };
  }
}

const told = (transitions: readonly Transition[]) =>
  transitions.map(({ run, seq }) => `${run} ${seq}`);

describe('readTransitions', () => {
  it('finds what the journals of all runs have, each run in its order', async () => {
    const database = await fresh();
    await enqueue(database, 4);
    for (const run of await claimed(database)) {
      const own = { id: run.id, fence: run.attempts };
      await transaction(database, (tx) => send(tx, outbox, 'release', own));
    }
    const ids = (await claimed(database)).map(({ id }) => id);
    const journals = await Promise.all(ids.map((id) => readJournal(database.db, outbox, id)));
    const { found } = await readAll(database);
    expect(found).toHaveLength(12);
    ids.forEach((id, n) => {
      const own = found.filter(({ run }) => run === id);
      expect(own.map(({ run: _, place: __, ...entry }) => entry)).toEqual(journals[n]);
    });
  });

  it.each([1, 2, 3, 5, 7, 8])('gives the same in pages of %d', async (limit) => {
    const database = await fresh();
    await enqueue(database, 7);
    await claimed(database, 3);
    await claimed(database, 4);
    const whole = told((await readAll(database)).found);
    expect(whole).toHaveLength(7);
    expect(told((await readAll(database, beginning, limit)).found)).toEqual(whole);
  });

  it('goes on after any of its transitions', async () => {
    const database = await fresh();
    await enqueue(database, 5);
    await claimed(database);
    const { found } = await readAll(database);
    for (const [n, { place }] of found.entries()) {
      expect(told((await readAll(database, place)).found)).toEqual(told(found.slice(n + 1)));
    }
  });

  it('waits for a transaction that began earlier and commits later', async () => {
    const database = await fresh();
    await enqueue(database, 2);
    await transaction(database, async (tx) => {
      const [early] = await claimIn(tx, 1);
      const [late] = await claimed(database, 1);
      const before = await readAll(database);
      expect(told(before.found)).toEqual([]);
      expect([early?.id, late?.id]).not.toContain(undefined);
    });
    const { found } = await readAll(database);
    expect(found).toHaveLength(2);
  });

  it('misses nothing of four writers, whoever commits last', async () => {
    const database = await fresh({ connections: 6 });
    await enqueue(database, 40);
    let reading = true;
    let after = beginning;
    const seen: string[] = [];
    const reader = async () => {
      while (reading) {
        const page = await readTransitions(database.db, outbox, { after, limit: 3 });
        seen.push(...told(page.transitions));
        after = page.next;
      }
    };
    const writer = async () => {
      for (let n = 0; n < 5; n += 1) {
        await transaction(database, async (tx) => {
          for (const _ of [1, 2]) await claimIn(tx, 1);
        });
      }
    };
    const read = reader();
    await Promise.all([writer(), writer(), writer(), writer()]);
    reading = false;
    await read;
    seen.push(...told((await readAll(database, after)).found));
    expect(seen).toHaveLength(40);
    expect(new Set(seen).size).toBe(40);
  });

  it('moves on where there was nothing of this machine', async () => {
    const database = await fresh();
    const { next } = await readTransitions(database.db, outbox, { after: beginning, limit: 5 });
    expect(next).toEqual(await presentPlace(database.db));
    await claimedOne(database);
    expect((await readAll(database, next)).found).toHaveLength(1);
  });

  it('reads nothing of another machine', async () => {
    const database = await fresh();
    await claimedOne(database);
    const other = { ...outbox, id: 'other' };
    const page = await readTransitions(database.db, other, { after: beginning, limit: 5 });
    expect(page.transitions).toEqual([]);
  });
});

describe('presentPlace', () => {
  it('is before what has not been committed', async () => {
    const database = await fresh();
    await claimedOne(database);
    const present = await presentPlace(database.db);
    const { id } = await claimedOne(database);
    expect(told((await readAll(database, present)).found)).toEqual([`${id} 1`]);
  });
});
