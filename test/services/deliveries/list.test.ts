// The list of deliveries, the many at once, and what can be done with one.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { claimed, empty, enqueue, force } from '../../support/deliveries.ts';
import { openDeliveryApi } from '../../support/delivery-api.ts';
import { tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
beforeEach(() => empty(database()));

const api = () => openDeliveryApi(database(), { webhooks: { allowedRanges: [] } });
const idsOf = (body: Readonly<Record<string, unknown>>) =>
  (body['items'] as readonly { id: string }[]).map(({ id }) => id);
const one = async (changed: Parameters<typeof enqueue>[2] = {}) =>
  (await enqueue(database(), 1, changed))[0] ?? '';
const finished = (status: string) => `status = '${status}', attempts = 1, finished_at = now()`;

describe('the list of deliveries', () => {
  it('gives each once, newest first, over its pages, whatever comes meanwhile', async () => {
    const { get } = await api();
    const ids = await enqueue(database(), 25);
    const seen: string[] = [];
    let path = '/v1/deliveries?limit=10';
    const sizes: number[] = [];
    for (let next: unknown = ''; next !== null; ) {
      const { body } = await get(path);
      seen.push(...idsOf(body));
      sizes.push(idsOf(body).length);
      next = body['next'];
      path = `/v1/deliveries?limit=10&cursor=${next}`;
      await enqueue(database());
    }
    expect(sizes).toEqual([10, 10, 5]);
    expect(seen).toEqual([...ids].toReversed());
  });

  it('filters by status, channel, destination and time', async () => {
    const { get } = await api();
    const url = 'https://example.com/hooks?a=1';
    const ada = await one({ recipient: 'Ada@Example.ORG' });
    const bob = await one({ recipient: 'bob@other.example' });
    const hook = await one({ channel: 'webhook', recipient: url });
    const old = await one();
    await force(database(), bob, finished('dead'));
    await force(database(), old, "created_at = '2020-01-01T00:00:00Z'");
    const [running] = await claimed(database(), 1);
    const list = async (query: string) => idsOf((await get(`/v1/deliveries?${query}`)).body);
    expect(await list('status=dead')).toEqual([bob]);
    expect(await list('status=sent')).toEqual([]);
    expect(await list('status=processing')).toEqual([running?.id]);
    expect(await list('status=pending')).toHaveLength(2);
    expect(await list('channel=webhook')).toEqual([hook]);
    expect(await list('destination=example.org')).toEqual([old, ada]);
    expect(await list('destination=https://example.com')).toEqual([hook]);
    expect(await list('destination=https://example.co')).toEqual([]);
    expect(await list('to=2021-01-01T00:00:00Z')).toEqual([old]);
    expect(await list('from=2021-01-01T00:00:00.000001Z&channel=email')).toEqual([bob, ada]);
    expect(await list('from=2020-01-01T00:00:00Z&to=2020-01-01T00:00:00Z')).toEqual([]);
  });

  it('looks at 10,000 a page for a destination, and says how far it came', async () => {
    const { get } = await api();
    const rare = await one({ recipient: 'ada@rare.example' });
    await transaction(database(), async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`insert into fencepost.delivery (id, definition, channel, recipient, payload, message_key)
        select ('ffffffff-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 'email',
          'ada@example.org', '{}', 'key' from generate_series(1, 10000) n`.execute(tx);
    });
    const path = '/v1/deliveries?destination=rare.example';
    const first = await get(path);
    expect(idsOf(first.body)).toEqual([]);
    const second = await get(`${path}&cursor=${first.body['next']}`);
    expect([idsOf(second.body), second.body['next']]).toEqual([[rare], null]);
  });

  it('refuses a cursor that is not of this list, and filters that are none', async () => {
    const { get } = await api();
    await enqueue(database(), 3);
    const { body } = await get('/v1/deliveries?limit=1');
    const refused = async (query: string) => {
      const answer = await get(`/v1/deliveries?${query}`);
      expect([answer.status, answer.body['code']]).toEqual([400, 'invalid_query']);
      return (answer.body['errors'] as readonly { pointer: string }[])[0]?.pointer;
    };
    const cursor = String(body['next']);
    expect(await refused(`cursor=${cursor.slice(0, -1)}`)).toBe('/cursor');
    expect(await refused(`cursor=x${cursor}`)).toBe('/cursor');
    expect(await refused(`status=dead&cursor=${cursor}`)).toBe('/cursor');
    expect(await refused('status=flying')).toBe('/status');
    expect(await refused('limit=0')).toBe('/limit');
    expect(await refused('limit=1e9')).toBe('/limit');
    expect(await refused('from=yesterday')).toBe('/from');
    expect(await refused('to=0000-01-01T00:00:00Z')).toBe('/to');
    expect((await get(`/v1/deliveries?limit=2&cursor=${cursor}`)).status).toBe(200);
  });
});

describe('many deliveries in one request', () => {
  const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };

  it('have an answer each: what is wrong is refused, what is right is enqueued', async () => {
    const { post, get } = await api();
    const deliveries = [email, { ...email, to: 'ada' }, 7, { ...email, subject: 'Last' }];
    const { status, body } = await post('/v1/deliveries/batch', { deliveries });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      accepted: 2,
      refused: 2,
      items: [
        { outcome: 'accepted' },
        { outcome: 'refused', errors: [{ code: 'bad_address', pointer: '/deliveries/1/to' }] },
        { outcome: 'refused', errors: [{ code: 'wrong_type', pointer: '/deliveries/2' }] },
        { outcome: 'accepted' },
      ],
    });
    const items = body['items'] as readonly { id?: string }[];
    const listed = idsOf((await get('/v1/deliveries')).body);
    expect(listed).toEqual([items[3]?.id, items[0]?.id]);
  });

  it('are 1 to 1,000, once under a key', async () => {
    const { post } = await api();
    const many = (count: number) => ({ deliveries: Array.from({ length: count }, () => email) });
    for (const count of [0, 1001]) {
      const refused = await post('/v1/deliveries/batch', many(count));
      expect(refused.body).toMatchObject({ status: 422, errors: [{ pointer: '/deliveries' }] });
    }
    const headers = { 'idempotency-key': randomUUID() };
    const first = await post('/v1/deliveries/batch', many(1000), { headers });
    expect(first.body['accepted']).toBe(1000);
    const again = await post('/v1/deliveries/batch', many(1000), { headers });
    expect(again.body).toEqual(first.body);
    const { rows } = await sql<{ count: number }>`
      select count(*) from fencepost.delivery`.execute(database().db);
    expect(rows[0]?.count).toBe(1000);
  });
});

interface Choice {
  readonly name: string;
  readonly allowed: boolean;
  readonly because: readonly { readonly code: string; readonly text: string }[];
}

describe('a delivery that is looked at', () => {
  it('says what its attempts were', async () => {
    const { get } = await api();
    const id = await one();
    await claimed(database(), 1, 'worker 1');
    const { body } = await get(`/v1/deliveries/${id}`);
    expect(body['history']).toEqual([
      {
        number: 1,
        worker: 'worker 1',
        begunAt: expect.any(String),
        endedAt: null,
        endedBy: null,
        became: null,
      },
    ]);
    await force(database(), id, "lease_expires_at = now() - interval '1 minute'");
    const later = await get(`/v1/deliveries/${id}`);
    expect(later.body['history']).toMatchObject([
      { number: 1, endedBy: 'lease.expired', became: 'pending' },
    ]);
  });

  it('says what may be done with it, and why the rest may not', async () => {
    const { get, post } = await api();
    const id = await one();
    const choices = async (token?: string) => {
      const { body } = await get(`/v1/deliveries/${id}`, token === undefined ? {} : { token });
      const list = body['choices'] as readonly Choice[];
      return new Map(list.map((each) => [each.name, each]));
    };
    const codes = (each: Choice | undefined) => each?.because.map(({ code }) => code);
    const fresh = await choices();
    expect(fresh.get('redrive')).toMatchObject({
      allowed: false,
      because: [
        {
          code: 'wrong_status',
          text: 'It is "pending"; this is possible from "failed" or "dead".',
        },
      ],
    });
    expect(codes(fresh.get('claim'))).toEqual(['not_for_callers']);
    await force(database(), id, "next_attempt_at = now() + interval '1 hour'");
    expect(codes((await choices()).get('claim'))).toEqual(['not_due', 'not_for_callers']);

    await force(database(), id, finished('dead'));
    expect((await choices()).get('redrive')).toMatchObject({ allowed: true, because: [] });
    const reader = await tokenOf('reader', ['deliveries:read']);
    expect(codes((await choices(reader)).get('redrive'))).toEqual(['insufficient_scope']);
    await post(`/v1/deliveries/${id}/redrive`);
    expect(codes((await choices()).get('redrive'))).toEqual(['already_redriven']);
  });
});
