import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { redrive } from '../../../services/deliveries/redrive.ts';
import { enqueue, force } from '../../support/deliveries.ts';
import { openDeliveryApi } from '../../support/delivery-api.ts';
import { opened, useOpened } from '../../support/opened.ts';

const database = useOpened();

/** A delivery in the status, by force: how it came there does not matter here. */
async function delivery(status: string, changes = 'attempts = 3'): Promise<string> {
  const [id = ''] = await enqueue(database(), 1, { message_key: randomUUID(), max_failures: 3 });
  await force(database(), id, `status = '${status}', ${changes}`);
  return id;
}

const rowOf = (id: string) =>
  database()
    .db.selectFrom('fencepost.delivery')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

const redrivesOf = (id: string) =>
  database()
    .db.selectFrom('fencepost.delivery')
    .select('id')
    .where('redrive_of', '=', id)
    .execute();

const redriven = (id: string) => transaction(database(), (tx) => redrive(tx, id));

const leased = "lease_owner = 'w', lease_expires_at = now() + interval '1 hour', attempts = 1";
const lapsed = "lease_owner = 'w', lease_expires_at = now() - interval '1 hour', attempts = 1";

describe('a redrive', () => {
  it.each(['failed', 'dead'])(
    'makes a new delivery of the same message from one that is %s',
    async (status) => {
      const id = await delivery(status, 'attempts = 3, failures = 3, maybe_twice = true');
      const before = await rowOf(id);
      const outcome = await redriven(id);
      expect(outcome).toEqual({ outcome: 'redriven', id: expect.any(String) });
      const { channel, recipient, payload, message_key, max_failures } = before;
      expect(await rowOf(outcome.outcome === 'redriven' ? outcome.id : '')).toMatchObject({
        ...{ channel, recipient, payload, message_key, max_failures },
        redrive_of: id,
        status: 'pending',
        attempts: 0,
        failures: 0,
        // The receiver may have had it from the old one.
        maybe_twice: true,
      });
      expect(await rowOf(id)).toEqual(before);
    },
  );

  it.each([
    ['pending', 'attempts = 0'],
    ['processing', leased],
    ['sent', 'attempts = 1'],
  ])('is refused while the delivery is %s', async (status, changes) => {
    const id = await delivery(status, changes);
    expect(await redriven(id)).toEqual({ outcome: 'refused', status });
    expect(await redrivesOf(id)).toEqual([]);
  });

  it('judges a lapsed lease before it answers', async () => {
    const id = await delivery('processing', `${lapsed}, max_lease_losses = 1`);
    expect(await redriven(id)).toMatchObject({ outcome: 'redriven' });
    expect(await rowOf(id)).toMatchObject({ status: 'dead', lease_losses: 1 });
  });

  it('misses what does not exist', async () => {
    expect(await redriven(randomUUID())).toEqual({ outcome: 'missing' });
  });

  it('is one, however many ask at once', async () => {
    const id = await delivery('dead');
    const many = await opened({ url: database().url, connections: 20 });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => transaction(many, (tx) => redrive(tx, id))),
    );
    const [only, ...others] = await redrivesOf(id);
    expect(others).toEqual([]);
    expect(outcomes.filter(({ outcome }) => outcome === 'redriven')).toHaveLength(1);
    const conflicts = outcomes.filter(({ outcome }) => outcome === 'conflict');
    expect(conflicts).toHaveLength(19);
    for (const conflict of conflicts)
      expect(conflict).toEqual({ outcome: 'conflict', id: only?.id });
  });

  it('is free again when the first one did not happen', async () => {
    const id = await delivery('dead');
    const rolledBack = transaction(database(), async (tx) => {
      await redrive(tx, id);
      throw new Error('not after all');
    });
    await expect(rolledBack).rejects.toThrow('not after all');
    expect(await redriven(id)).toMatchObject({ outcome: 'redriven' });
  });

  it('goes on from the newest: a message has one line of deliveries', async () => {
    const first = await delivery('dead');
    const second = await redriven(first);
    const secondId = second.outcome === 'redriven' ? second.id : '';
    await force(database(), secondId, "status = 'failed'");
    expect(await redriven(first)).toEqual({ outcome: 'conflict', id: secondId });
    expect(await redriven(secondId)).toMatchObject({ outcome: 'redriven' });
    expect(await redrivesOf(first)).toEqual([{ id: secondId }]);
    expect(await redrivesOf(secondId)).toHaveLength(1);
  });

  it('is held to one by the database too', async () => {
    const id = await delivery('dead');
    await redriven(id);
    await expect(enqueue(database(), 1, { redrive_of: id })).rejects.toMatchObject({
      code: '23505',
      constraint: 'delivery_redriven_once',
    });
  });

  it('does not get in the way of an event to the new one', async () => {
    const id = await delivery('failed');
    const outcome = await redriven(id);
    const newId = outcome.outcome === 'redriven' ? outcome.id : '';
    await force(database(), newId, `status = 'processing', ${leased}`);
    const sent = await transaction(database(), (tx) =>
      send(tx, outbox, 'sent', { id: newId, fence: 1, receipt: null }),
    );
    expect(sent).toMatchObject({ outcome: 'applied', after: { status: 'sent' } });
  });
});

describe('POST /v1/deliveries/<id>/redrive', () => {
  it('answers 202 with the new delivery, and links the two', async () => {
    const { post, get } = await openDeliveryApi(database());
    const id = await delivery('dead');
    const { status, location, body } = await post(`/v1/deliveries/${id}/redrive`);
    expect(status).toBe(202);
    expect(body).toEqual({ id: expect.any(String), status: 'pending', redriveOf: id });
    expect(location).toBe(`/v1/deliveries/${body['id']}`);
    const shown = await get(String(location));
    expect(shown.body).toMatchObject({
      redriveOf: id,
      redrivenBy: null,
      enqueuedBy: 'tester',
    });
    const old = await get(`/v1/deliveries/${id}`);
    expect(old.body).toMatchObject({ status: 'dead', redrivenBy: body['id'] });
  });

  it('answers 409 to whoever comes second, and names the first', async () => {
    const { post } = await openDeliveryApi(database());
    const id = await delivery('dead');
    const path = `/v1/deliveries/${id}/redrive`;
    const both = await Promise.all([post(path), post(path)]);
    const [first, second] = both.toSorted((a, b) => a.status - b.status);
    expect([first?.status, second?.status]).toEqual([202, 409]);
    expect(second?.body).toMatchObject({
      code: 'already_redriven',
      detail: expect.stringContaining(String(first?.body['id'])),
    });
  });

  it.each([
    ['pending', 'attempts = 0'],
    ['processing', leased],
    ['sent', 'attempts = 1'],
  ])('answers 409 while it is %s', async (status, changes) => {
    const { post } = await openDeliveryApi(database());
    const refused = await post(`/v1/deliveries/${await delivery(status, changes)}/redrive`);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({
      code: 'not_redrivable',
      detail: expect.stringContaining(`"${status}"`),
    });
  });

  it('answers 404 for none, and 400 for what names none', async () => {
    const { post } = await openDeliveryApi(database());
    const none = await post(`/v1/deliveries/${randomUUID()}/redrive`);
    expect([none.status, none.body['code']]).toEqual([404, 'delivery_not_found']);
    const malformed = await post('/v1/deliveries/7/redrive');
    expect([malformed.status, malformed.body['code']]).toEqual([400, 'invalid_path']);
  });
});
