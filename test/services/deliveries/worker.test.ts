import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { coolDown, liftCoolDown, readCoolDowns } from '../../../persistence/cool-downs.ts';
import type { Database } from '../../../persistence/database.ts';
import { readDelivery } from '../../../persistence/deliveries.ts';
import { transaction } from '../../../persistence/transaction.ts';
import type {
  Channel,
  CoolDownRequest,
  Failed,
  Message,
  SendResult,
  Sent,
} from '../../../services/deliveries/channel.ts';
import { deliveryWork } from '../../../services/deliveries/worker.ts';
import type { Pace } from '../../../services/runs/work.ts';
import { enqueue } from '../../support/deliveries.ts';
import { gate } from '../../support/mail-sink.ts';
import { fresh } from '../../support/opened.ts';
import { keptLog, running } from '../../support/runs.ts';

const sent: Sent = { result: 'sent', receipt: { response: '250 ok' } };
const failed = (fields: Partial<Failed>): Failed => ({
  result: 'failed',
  retryable: true,
  unknown: false,
  error: 'Error: no',
  ...fields,
});

interface Started {
  readonly coolDownAgeMs?: number;
  readonly pace?: Partial<Pace>;
}

async function deliver(database: Database, send: Channel['send'], started: Started = {}) {
  const sends: Message[] = [];
  const channel: Channel = {
    name: 'email',
    effect: 'at-least-once',
    destinationOf: (recipient) => recipient.split('@')[1] ?? '',
    send(message, signal) {
      sends.push(message);
      return send(message, signal);
    },
  };
  const { log, lines } = keptLog();
  const { coolDownAgeMs = 0, pace = {} } = started;
  const work = deliveryWork({ database, channel, log, coolDownAgeMs });
  return { sends, said: lines, ...(await running(database, work, { pace })) };
}

const to = (recipient: string) => ({ recipient, message_key: recipient });
const one = async (database: Database, recipient = 'ada@example.com'): Promise<string> =>
  (await enqueue(database, 1, to(recipient)))[0] ?? '';

const dueInMs = async (database: Database, id: string): Promise<number> => {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from next_attempt_at - now())::float8 * 1000 as ms
    from fencepost.delivery where id = ${id}::uuid`.execute(database.db);
  return rows[0]?.ms ?? Number.NaN;
};

describe('the end of a delivery', () => {
  it('is its receipt', async () => {
    const database = await fresh();
    const id = await one(database);
    const { seen } = await deliver(database, async () => sent);
    await seen('ended');
    expect(await readDelivery(database.db, id)).toMatchObject({
      ...{ status: 'sent', attempts: 1, receipt: sent.receipt },
    });
  });

  it.each<[SendResult, object]>([
    [failed({}), { status: 'pending', failures: 1, maybe_twice: false, last_error: 'Error: no' }],
    [failed({ unknown: true }), { status: 'pending', failures: 1, maybe_twice: true }],
    [failed({ retryable: false }), { status: 'failed', failures: 1 }],
    [
      { result: 'throttled', waitMs: 60_000, error: 'busy' },
      { status: 'pending', failures: 0, last_error: 'busy' },
    ],
  ])('follows from %o', async (result, expected) => {
    const database = await fresh();
    const id = await one(database);
    const { seen, said } = await deliver(database, async () => result);
    await seen('ended');
    expect(await readDelivery(database.db, id)).toMatchObject(expected);
    const error = result.result === 'sent' ? '' : result.error;
    expect(said).toContainEqual(expect.objectContaining({ delivery: id, error }));
  });

  it('waits as long as the receiver asked, and a day at most', async () => {
    const database = await fresh();
    const [short, long] = [await one(database, 'a@x.com'), await one(database, 'b@x.com')];
    const { seen } = await deliver(database, async ({ recipient }) =>
      failed({ retryAfterMs: recipient === 'a@x.com' ? 600_000.5 : 1e12 }),
    );
    await seen('ended', 2);
    expect(Math.round((await dueInMs(database, short)) / 60_000)).toBe(10);
    expect(Math.round((await dueInMs(database, long)) / 3_600_000)).toBe(24);
  });

  it('is a failure that may have arrived where a broken channel throws', async () => {
    const database = await fresh();
    const id = await one(database);
    const { seen } = await deliver(database, async () => {
      throw undefined;
    });
    await seen('ended');
    expect(await readDelivery(database.db, id)).toMatchObject({
      ...{ status: 'pending', maybe_twice: true, last_error: 'undefined (nothing was thrown)' },
    });
  });

  it('is `sent` without a receipt that cannot be stored, and is not sent twice', async () => {
    const database = await fresh();
    const id = await one(database);
    const receipt = { response: 'a\u0000' };
    const { seen, sends } = await deliver(database, async () => ({ result: 'sent', receipt }));
    await seen('ended', 2);
    expect(await readDelivery(database.db, id)).toMatchObject({ status: 'sent', receipt: null });
    expect(sends).toHaveLength(1);
  });

  it('is a release when the process must stop and no receiver heard of it', async () => {
    const database = await fresh();
    const [unheard, heard] = [await one(database, 'a@x.com'), await one(database, 'b@x.com')];
    const stage = gate();
    const { runs, seen } = await deliver(database, async ({ recipient }, signal) => {
      void stage.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return failed({ unknown: recipient === 'b@x.com' });
    });
    await seen('started', 2);
    await runs.stop(0);
    const about = { status: 'pending', attempts: 1 };
    expect(await readDelivery(database.db, unheard)).toMatchObject({ ...about, failures: 0 });
    expect(await readDelivery(database.db, heard)).toMatchObject({ ...about, failures: 1 });
  });
});

describe('a cool-down', () => {
  const ask = (scope: CoolDownRequest['scope'], ms: number | null): CoolDownRequest => ({
    ...{ scope, ms, reason: 'slow down' },
  });

  it('of the channel keeps it from being asked, until it is over', async () => {
    const database = await fresh();
    const id = await one(database);
    const given = { channel: 'email', destination: '', ms: 300, reason: 'no' };
    await transaction(database, (tx) => coolDown(tx, given));
    const { seen, of, sends, until } = await deliver(database, async () => sent, {
      pace: { pollMs: 50 },
    });
    await seen('paused');
    expect(sends).toEqual([]);
    expect(await readDelivery(database.db, id)).toMatchObject({ status: 'pending', attempts: 0 });
    await seen('ended');
    expect(of('paused').length).toBeGreaterThan(1);
    expect(sends).toHaveLength(1);
    await until(() => of('ended').length === 1);
  });

  it('of the channel that a person lifts is over at once', async () => {
    const database = await fresh();
    await one(database);
    const given = { channel: 'email', destination: '', ms: null, reason: 'bad password' };
    await transaction(database, (tx) => coolDown(tx, given));
    const { seen } = await deliver(database, async () => sent, { pace: { pollMs: 20 } });
    await seen('paused');
    await transaction(database, (tx) => liftCoolDown(tx, 'email', ''));
    await seen('ended');
  });

  it('of a destination puts off each of its deliveries once; others flow', async () => {
    const database = await fresh();
    const cooled = [await one(database, 'a@slow.com'), await one(database, 'b@slow.com')];
    await one(database, 'c@fast.com');
    const given = { channel: 'email', destination: 'slow.com', ms: 600_000, reason: 'no' };
    await transaction(database, (tx) => coolDown(tx, given));
    const { seen, sends } = await deliver(database, async () => sent);
    await seen('ended', 3);
    await seen('waiting');
    expect(sends.map(({ recipient }) => recipient)).toEqual(['c@fast.com']);
    for (const id of cooled) {
      expect(await readDelivery(database.db, id)).toMatchObject({
        ...{ status: 'pending', attempts: 1, failures: 0, last_error: 'no' },
      });
      expect(Math.round((await dueInMs(database, id)) / 60_000)).toBe(10);
    }
  });

  it('that only a person can end puts off by a day', async () => {
    const database = await fresh();
    const id = await one(database, 'a@gone.com');
    const given = { channel: 'email', destination: 'a@gone.com', ms: null, reason: 'gone' };
    await transaction(database, (tx) => coolDown(tx, given));
    const { seen, sends } = await deliver(database, async () => sent);
    await seen('ended');
    expect(sends).toEqual([]);
    expect(Math.round((await dueInMs(database, id)) / 3_600_000)).toBe(24);
  });

  it.each<[CoolDownRequest['scope'], string]>([
    ['channel', ''],
    ['destination', 'slow.com'],
    ['recipient', 'a@slow.com'],
  ])('of the %s is written with the end that brought it', async (scope, destination) => {
    const database = await fresh();
    await one(database, 'a@slow.com');
    const { seen, said } = await deliver(database, async () => ({
      ...{ result: 'throttled', waitMs: 60_000, error: 'busy', coolDown: ask(scope, 60_000) },
    }));
    await seen('ended');
    expect(await readCoolDowns(database.db, 'email')).toMatchObject([
      { destination, reason: 'slow down', leftMs: expect.any(Number) },
    ]);
    expect(said.filter(({ msg }) => msg === 'delivery: cooled down')).toHaveLength(1);
  });

  it('is known at once to the process that met it', async () => {
    const database = await fresh();
    await enqueue(database, 5, to('a@slow.com'));
    const { seen, sends } = await deliver(
      database,
      async () => failed({ retryAfterMs: 60_000, coolDown: ask('destination', 60_000) }),
      { pace: { concurrency: 1 }, coolDownAgeMs: 3_600_000 },
    );
    await seen('ended', 5);
    expect(sends).toHaveLength(1);
  });
});
