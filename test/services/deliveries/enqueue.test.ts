import { describe, expect, it } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { enqueue, enqueueMany } from '../../../services/deliveries/enqueue.ts';
import { deliverySchema } from '../../../services/deliveries/new-delivery.ts';
import { openDeliveryApi } from '../../support/delivery-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const rules = { webhooks: { allowedRanges: ['127.0.0.0/8'] } };
const newDelivery = deliverySchema(rules);
const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };
const webhook = { channel: 'webhook', to: 'https://example.com', data: null };
const sender = 'me@example.com';

const rowOf = async (id: unknown) =>
  await database()
    .db.selectFrom('fencepost.delivery')
    .select(['channel', 'recipient', 'payload', 'message_key', 'status', 'redrive_of'])
    .where('id', '=', String(id))
    .executeTakeFirst();

describe('an enqueue', () => {
  it('freezes a webhook as the exact text of its body', async () => {
    const { post } = await openDeliveryApi(database(), rules);
    const data = '{"snake_key":1,"b":2,"a":[1.5,-2,"ü"],"__proto__":{"x":null},"deep":{}}';
    const to = 'https://Example.com:443/a/../hooks?b=ü';
    const text = `{"channel":"webhook","to":"${to}","type":"invoice.paid","data":${data}}`;
    const { status, body, location } = await post('/v1/deliveries', text);
    expect(status).toBe(202);
    expect(location).toBe(`/v1/deliveries/${body['id']}`);
    const row = await rowOf(body['id']);
    expect(row).toMatchObject({
      channel: 'webhook',
      recipient: 'https://example.com/hooks?b=%C3%BC',
      message_key: expect.stringMatching(/^msg_[0-9a-f-]{36}$/),
      status: 'pending',
      redrive_of: null,
    });
    expect(row?.payload).toMatch(/^\{"type":"invoice.paid","timestamp":"\d{4}-[^"]{18}Z","data":/);
    expect(row?.payload.endsWith(`,"data":${data}}`)).toBe(true);
  });

  it.each([
    [null],
    [0],
    [''],
    [[]],
    [{ a: { b: 'NULL' } }],
    ['x'.repeat(1_048_574)],
    [Number.MAX_SAFE_INTEGER],
  ])('takes any JSON for data', async (data) => {
    const { post } = await openDeliveryApi(database(), rules);
    const { status, body } = await post('/v1/deliveries', { ...webhook, data });
    expect(status).toBe(202);
    const row = await rowOf(body['id']);
    expect(JSON.parse(row?.payload ?? '')).toEqual({ timestamp: expect.any(String), data });
  });

  it('takes http, and private addresses, where their range is allowed', async () => {
    const { post } = await openDeliveryApi(database(), rules);
    for (const to of ['http://127.0.0.1:3000/a', 'http://localhost/', 'https://127.0.0.2/']) {
      expect((await post('/v1/deliveries', { ...webhook, to })).status).toBe(202);
    }
  });

  it('takes a mail as ever', async () => {
    const { post } = await openDeliveryApi(database(), rules);
    const { body } = await post('/v1/deliveries', email);
    expect(await rowOf(body['id'])).toMatchObject({
      channel: 'email',
      payload: JSON.stringify({ from: sender, subject: 'Hello', body: 'It works.' }),
      message_key: expect.stringMatching(/^<.+@fencepost\.local>$/),
    });
  });

  it('is of one or of a thousand, in the order in which they were given', async () => {
    const many = Array.from({ length: 1000 }, (_, i) =>
      newDelivery.parse(i % 2 ? { ...webhook, data: i } : { ...email, subject: String(i) }),
    );
    const ids = await transaction(database(), (tx) => enqueueMany(tx, many, { sender }));
    expect(new Set(ids)).toHaveLength(1000);
    expect(await rowOf(ids[998])).toMatchObject({ payload: expect.stringContaining('"998"') });
    expect(await rowOf(ids[999])).toMatchObject({ payload: expect.stringContaining(':999}') });
    expect(await transaction(database(), (tx) => enqueueMany(tx, [], { sender }))).toEqual([]);
    const more = [...many, newDelivery.parse(email)];
    const tooMany = transaction(database(), (tx) => enqueueMany(tx, more, { sender }));
    await expect(tooMany).rejects.toThrow(RangeError);
  });

  it('is undone with the transaction that it belongs to', async () => {
    const ids: string[] = [];
    const rolledBack = transaction(database(), async (tx) => {
      ids.push(await enqueue(tx, newDelivery.parse(webhook), { sender }));
      throw new Error('what caused it did not happen');
    });
    await expect(rolledBack).rejects.toThrow('did not happen');
    expect(await rowOf(ids[0])).toBeUndefined();
  });
});
