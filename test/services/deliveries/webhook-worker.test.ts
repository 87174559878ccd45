// Webhooks through the worker, to real receivers: what an answer does to the deliveries that wait
// beside the one that met it, and how long a receiver may ask to wait.

import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readCoolDowns } from '../../../persistence/cool-downs.ts';
import type { Database } from '../../../persistence/database.ts';
import { readDelivery } from '../../../persistence/deliveries.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { webhookChannel } from '../../../services/deliveries/webhook.ts';
import { deliveryWork } from '../../../services/deliveries/worker.ts';
import { enqueue, force } from '../../support/deliveries.ts';
import { answer, openHttpSink } from '../../support/http-sink.ts';
import { fresh } from '../../support/opened.ts';
import type { Recorder } from '../../support/recorder.ts';
import { keptLog, running } from '../../support/runs.ts';

const day = 86_400_000;

/** A receiver that says this to whatever comes. */
async function receiver(text: string) {
  const sink = await openHttpSink({ onRequest: (socket) => socket.end(text) });
  onTestFinished(sink.close);
  return sink;
}

const busy = (after: string) => answer(429, 'slow down', [['retry-after', after]]);

async function deliver(database: Database, concurrency = 1) {
  const channel = webhookChannel({
    secret: `whsec_${'A'.repeat(32)}`,
    allowedRanges: ['127.0.0.0/8'],
    timeoutMs: 20_000,
  });
  const work = deliveryWork({ database, channel, log: keptLog().log, coolDownAgeMs: 0 });
  return await running(database, work, { pace: { concurrency, batch: 1, pollMs: 20 } });
}

/** One to each, due in this order. */
async function webhooks(database: Database, recipients: readonly string[]) {
  const ids: string[] = [];
  for (const recipient of recipients) {
    const row = { channel: 'webhook', recipient, message_key: `msg_${ids.length}` };
    ids.push(...(await enqueue(database, 1, row)));
  }
  return ids;
}

/**
 * Time passes: no cool-down is left, and what was put off is due. In between the worker looks
 * twice: once it may have read the cool-downs before, and a claim goes by what was read before it.
 */
async function passTime(
  { of, seen }: Pick<Recorder, 'of' | 'seen'>,
  database: Database,
  id: string,
  alsoGivenUp = false,
): Promise<void> {
  await sql`update fencepost.cool_down set until = at`.execute(database.db);
  await seen('waiting', of('waiting').length + 2);
  const givenUp = alsoGivenUp ? ', give_up_at = created_at' : '';
  await force(database, id, `next_attempt_at = created_at${givenUp}`);
}

describe('an answer that asks to wait', () => {
  it('keeps what goes to the same origin from being sent; others flow', async () => {
    const database = await fresh();
    const [slow, fast] = [await receiver(busy('600')), await receiver(answer(200))];
    const ids = await webhooks(database, [
      ...[`${slow.url}/a`, `${slow.url}/b`, `${fast.url}/c`, `${slow.url}/a?d`],
    ]);
    const { seen } = await deliver(database);
    await seen('ended', ids.length);
    expect([slow.requests.length, fast.requests.length]).toEqual([1, 1]);
    const rows = await Promise.all(ids.map((id) => readDelivery(database.db, id)));
    expect(rows.map((row) => row?.status)).toEqual(['pending', 'pending', 'sent', 'pending']);
    for (const row of rows) expect(row).toMatchObject({ attempts: 1, failures: 0 });
    expect(await readCoolDowns(database.db, 'webhook')).toMatchObject([
      { destination: slow.url, reason: 'HTTP 429: slow down' },
    ]);
  });

  it('is asked again when the time is over, by whoever was put off first', async () => {
    const database = await fresh();
    const slow = await receiver(busy('600'));
    const [first = '', second = ''] = await webhooks(database, [`${slow.url}/a`, `${slow.url}/b`]);
    const worker = await deliver(database);
    const { seen } = worker;
    await seen('ended', 2);
    await passTime(worker, database, second);
    await seen('ended', 3);
    expect(slow.requests.map(({ line }) => line.split(' ')[1])).toEqual(['/a', '/b']);
    expect(await readDelivery(database.db, first)).toMatchObject({ attempts: 1 });
    expect(await readDelivery(database.db, second)).toMatchObject({ attempts: 2, failures: 0 });
  });

  it('ends the delivery at `give_up_at`, however often it is repeated', async () => {
    const database = await fresh();
    const slow = await receiver(busy('86400'));
    const [id = ''] = await webhooks(database, [slow.url]);
    const worker = await deliver(database);
    const { seen } = worker;
    const rounds = 10;
    for (let round = 1; round <= rounds; round += 1) {
      await seen('ended', round);
      expect(await readDelivery(database.db, id)).toMatchObject({
        ...{ status: 'pending', attempts: round, failures: 0 },
      });
      await passTime(worker, database, id, round === rounds);
    }
    await seen('ended', rounds + 1);
    expect(await readDelivery(database.db, id)).toMatchObject({
      ...{ status: 'dead', attempts: rounds + 1, failures: 0, maybe_twice: false },
      last_error: 'HTTP 429: slow down',
    });
    expect(slow.requests).toHaveLength(rounds + 1);
  });

  it('ends at `give_up_at` also what was only put off, without a send', async () => {
    const database = await fresh();
    const slow = await receiver(busy('600'));
    const [, second = ''] = await webhooks(database, [`${slow.url}/a`, `${slow.url}/b`]);
    const { seen } = await deliver(database);
    await seen('ended', 2);
    await force(database, second, 'next_attempt_at = created_at, give_up_at = created_at');
    await seen('ended', 3);
    expect(await readDelivery(database.db, second)).toMatchObject({
      ...{ status: 'dead', attempts: 2, failures: 0, last_error: 'HTTP 429: slow down' },
    });
    expect(slow.requests).toHaveLength(1);
  });

  it('is bounded by a day, which is what a process that starts later finds', async () => {
    const database = await fresh();
    const slow = await receiver(busy('99999999'));
    await webhooks(database, [`${slow.url}/a`]);
    const { runs, seen } = await deliver(database);
    await seen('ended');
    await runs.stop(0);
    const [second = ''] = await webhooks(database, [`${slow.url}/b`]);
    const later = await deliver(database);
    await later.seen('ended');
    expect(slow.requests).toHaveLength(1);
    expect(await readDelivery(database.db, second)).toMatchObject({ status: 'pending' });
    const [cooled] = await readCoolDowns(database.db, 'webhook');
    expect(cooled?.leftMs).toBeGreaterThan(day - 60_000);
    expect(cooled?.leftMs).toBeLessThanOrEqual(day);
  });
});

describe('an answer that says gone', () => {
  it('ends that URL alone, until somebody lifts it', async () => {
    const database = await fresh();
    const sink = await openHttpSink({
      onRequest: (socket, { line }) => socket.end(answer(line.includes('/gone') ? 410 : 200)),
    });
    onTestFinished(sink.close);
    const urls = [`${sink.url}/gone`, `${sink.url}/gone`, `${sink.url}/here`];
    const ids = await webhooks(database, urls);
    const { seen } = await deliver(database);
    await seen('ended', ids.length);
    const rows = await Promise.all(ids.map((id) => readDelivery(database.db, id)));
    expect(rows.map((row) => row?.status)).toEqual(['failed', 'pending', 'sent']);
    expect(sink.requests).toHaveLength(2);

    const [, waiting = ''] = ids;
    await transaction(database, (tx) => sql`delete from fencepost.cool_down`.execute(tx));
    await force(database, waiting, 'next_attempt_at = created_at');
    await seen('ended', ids.length + 1);
    expect(await readDelivery(database.db, waiting)).toMatchObject({ status: 'failed' });
    expect(sink.requests).toHaveLength(3);
  });
});
