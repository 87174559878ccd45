// A run with the face of an actor: what it shows, what it answers, what its subscribers are told.

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { outbox } from '../../machines/outbox.ts';
import type { Database } from '../../persistence/database.ts';
import { send } from '../../persistence/door.ts';
import type { JournalEntry } from '../../persistence/journal.ts';
import { type Observer, runActor } from '../../persistence/run-actor.ts';
import { transaction } from '../../persistence/transaction.ts';
import { claimed, claimedOne, empty, enqueue, force } from '../support/deliveries.ts';
import { opened, useOpened } from '../support/opened.ts';
import { openProxy } from '../support/proxy.ts';
import { signal } from '../support/signal.ts';

const database = useOpened();
const often = { pollMs: 2 };

/** An observer that writes down what it is told, and says when it was told so many entries. */
function scribe() {
  const entries: JournalEntry[] = [];
  const statuses: unknown[] = [];
  const errors: unknown[] = [];
  const completed = signal();
  const failed = signal();
  let wanted = signal();
  let count = Number.POSITIVE_INFINITY;
  const observer: Observer = {
    next: (snapshot, more) => {
      entries.push(...more);
      statuses.push(snapshot.value);
      if (entries.length >= count) wanted.give();
    },
    error: (error) => {
      errors.push(error);
      failed.give();
    },
    complete: () => completed.give(),
  };
  const told = (n: number) => {
    count = n;
    wanted = signal();
    if (entries.length >= n) wanted.give();
    return wanted.given;
  };
  return { observer, entries, statuses, errors, told, completed, failed };
}

/** The actor of a run in a worker's hands, with the fence. */
async function atWork(on: Database, options = often) {
  const run = await claimedOne(database());
  return { actor: await runActor(on, outbox, run.id, options), fence: run.attempts, run };
}

async function releaseAndClaim(id: string, fence: number): Promise<number> {
  await transaction(database(), (tx) => send(tx, outbox, 'release', { id, fence }));
  await claimed(database(), 100);
  return fence + 1;
}

describe('a snapshot', () => {
  it('is the row, with what the machine says of it', async () => {
    const { actor, run } = await atWork(database());
    const snapshot = actor.getSnapshot();
    expect(snapshot).toMatchObject({ value: 'processing', status: 'active' });
    const { status, ...row } = run;
    expect([status, snapshot.context]).toEqual(['processing', row]);
    expect(snapshot.hasTag('leased')).toBe(true);
    const moment = { at: run.created_at, dice: 0 };
    expect(snapshot.can({ type: 'sent', ...moment })).toBe(true);
    expect(snapshot.can({ type: 'claim', ...moment })).toBe(false);
    expect(snapshot.can({ type: 'lease.expired', ...moment })).toBe(false);
    const late = { at: Number(run.lease_expires_at), dice: 0 };
    expect(snapshot.can({ type: 'lease.expired', ...late })).toBe(true);
  });

  it('stays as it was read until it is refreshed', async () => {
    const { actor, fence } = await atWork(database());
    await transaction(database(), (tx) => send(tx, outbox, 'sent', { id: actor.id, fence }));
    expect(actor.getSnapshot().value).toBe('processing');
    expect((await actor.refresh()).value).toBe('sent');
    expect(actor.getSnapshot().status).toBe('done');
  });

  it('is refused for a run that does not exist', async () => {
    const nobody = runActor(database(), outbox, randomUUID());
    await expect(nobody).rejects.toMatchObject({ code: 'unknown_run' });
  });
});

describe('send', () => {
  it('answers with the outcome, and shows what it led to', async () => {
    const { actor, fence } = await atWork(database());
    const stale = await actor.send({ type: 'sent', fence: fence + 1 });
    expect([stale.outcome, actor.getSnapshot().value]).toEqual(['lost', 'processing']);
    const sent = await actor.send({ type: 'sent', fence, receipt: { id: 7 } });
    expect([sent.outcome, actor.getSnapshot().value]).toEqual(['applied', 'sent']);
    expect(actor.getSnapshot().context['receipt']).toEqual({ id: 7 });
    const again = await actor.send({ type: 'sent', fence });
    expect(again).toMatchObject({ outcome: 'lost', status: 'sent' });
    const swept = await actor.send({ type: 'lease.expired', actor: 'ada' });
    expect(swept).toMatchObject({ outcome: 'refused', because: ['wrong_status'] });
  });

  it('answers that it is applied, although the run cannot be read again', async () => {
    let isBlind = false;
    class Blind extends pg.Client {
      override query(...args: unknown[]): never {
        const { text = '' } = args[0] as { readonly text?: string };
        if (isBlind && text.includes('select "id"')) throw new Error('blind');
        return Reflect.apply(super.query, this, args) as never;
      }
    }
    const blind = await opened({ url: database().url, clientClass: Blind });
    const { actor, fence } = await atWork(blind);
    isBlind = true;
    expect((await actor.send({ type: 'sent', fence })).outcome).toBe('applied');
    isBlind = false;
    expect((await actor.refresh()).value).toBe('sent');
  });
});

describe('a subscriber', () => {
  it('is told each entry once, in order, of others and of its own, up to the end', async () => {
    const { actor, run, fence } = await atWork(database());
    const { observer, entries, statuses, completed, told } = scribe();
    actor.subscribe(observer);
    const second = await releaseAndClaim(run.id, fence);
    await told(2);
    const third = await releaseAndClaim(run.id, second);
    await actor.send({ type: 'renew', fence: third, lease_ms: 1000 });
    await actor.send({ type: 'sent', fence: third });
    await completed.given;
    const events = ['release', 'claim', 'release', 'claim', 'sent'];
    expect(entries.map(({ event }) => event)).toEqual(events);
    // A renewal is counted and not told.
    expect(entries.map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 7]);
    expect(statuses.at(-1)).toBe('sent');
  });

  it('is told of its own sends without waiting for the next look', async () => {
    const { actor, fence } = await atWork(database(), { pollMs: 2 ** 30 });
    const { observer, entries, completed } = scribe();
    actor.subscribe(observer);
    await actor.send({ type: 'sent', fence });
    await completed.given;
    expect(entries.map(({ event }) => event)).toEqual(['sent']);
  });

  it('gets what happened since the snapshot, though it comes later', async () => {
    const { actor, run, fence } = await atWork(database());
    await transaction(database(), (tx) => send(tx, outbox, 'sent', { id: run.id, fence }));
    const { observer, entries, completed } = scribe();
    actor.subscribe(observer);
    await completed.given;
    expect(entries.map(({ event }) => event)).toEqual(['sent']);
  });

  it('of a run that has come to its end is told just that', async () => {
    const { actor, fence } = await atWork(database());
    await actor.send({ type: 'sent', fence });
    const { observer, entries, completed } = scribe();
    actor.subscribe(observer);
    await completed.given;
    expect(entries).toEqual([]);
  });

  it('is told nothing more once it left, while another is', async () => {
    const { actor, fence } = await atWork(database());
    const [gone, stays] = [scribe(), scribe()];
    const subscription = actor.subscribe(gone.observer);
    actor.subscribe(stays.observer);
    subscription.unsubscribe();
    await actor.send({ type: 'sent', fence });
    await stays.completed.given;
    expect([gone.entries.length, stays.entries.length]).toEqual([0, 1]);
  });

  it('is at the end when the run is gone', async () => {
    const { actor, run } = await atWork(database());
    const { observer, completed, errors } = scribe();
    actor.subscribe(observer);
    await force(database(), run.id, "status = 'sent'");
    await empty(database());
    await completed.given;
    expect(errors).toEqual([]);
  });

  it('is told that the database is away, and then of what it missed', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const remote = await opened({ url: proxy.url, connections: 1 });
    const { actor, run, fence } = await atWork(remote);
    const { observer, entries, errors, failed, completed } = scribe();
    actor.subscribe(observer);
    proxy.refuse();
    await failed.given;
    await transaction(database(), (tx) => send(tx, outbox, 'sent', { id: run.id, fence }));
    proxy.release();
    await completed.given;
    expect(entries.map(({ event }) => event)).toEqual(['sent']);
    expect(errors.length).toBeGreaterThanOrEqual(1);
  });

  it('does not see the run go back, however the reads of several overtake each other', async () => {
    await enqueue(database());
    const { actor, fence } = await atWork(database());
    const seen: number[] = [];
    const completed = signal();
    for (let i = 0; i < 4; i += 1) {
      actor.subscribe({
        next: () => seen.push(Number(actor.getSnapshot().context['seq'])),
        complete: completed.give,
      });
    }
    for (let i = 0; i < 20; i += 1) {
      await actor.send({ type: 'renew', fence, lease_ms: 1000 + i });
      seen.push(Number(actor.getSnapshot().context['seq']));
    }
    await actor.send({ type: 'sent', fence });
    await completed.given;
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });
});
