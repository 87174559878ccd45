import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Database } from '../../../persistence/database.ts';
import { wakeChannel } from '../../../persistence/wake.ts';
import { startRetention } from '../../../services/deliveries/retention.ts';
import { deliveryRoutes } from '../../../services/deliveries/routes.ts';
import { problem, problemKind } from '../../../services/http/problem.ts';
import { route } from '../../../services/http/route.ts';
import { enqueueIn, force } from '../../support/deliveries.ts';
import { openDeliveryApi } from '../../support/delivery-api.ts';
import { openApi, tokenOf } from '../../support/open-api.ts';
import { connected, opened, useOpened } from '../../support/opened.ts';
import { spawnServer } from '../../support/server-process.ts';
import { signal } from '../../support/signal.ts';

const database = useOpened();
const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };
const under = (key: string) => ({ headers: { 'idempotency-key': key } });

async function deliveries(subject: string): Promise<readonly string[]> {
  const rows = await database()
    .db.selectFrom('fencepost.delivery')
    .select('id')
    .where(sql<string>`payload::jsonb ->> 'subject'`, '=', subject)
    .execute();
  return rows.map(({ id }) => id);
}

const keptKeys = async (key: string) =>
  await database()
    .db.selectFrom('fencepost.idempotency')
    .select(['principal', 'status'])
    .where('key', '=', key)
    .execute();

describe('a request under a key', () => {
  it('is done once and answered the same, by as many connections as there are', async () => {
    const { post } = await openDeliveryApi(database());
    const [key, subject] = [randomUUID(), randomUUID()];
    const ask = () => post('/v1/deliveries', { ...email, subject }, under(key));
    const first = await Promise.all(Array.from({ length: 50 }, ask));
    const busy = first.filter(({ status }) => status === 409);
    for (const each of busy) {
      expect(each.body['code']).toBe('request_in_progress');
      expect(each.headers.get('retry-after')).toBe('1');
    }
    // Nobody runs any more, so whoever was sent away has the answer now.
    const again = await Promise.all(busy.map(ask));
    const answered = [...first.filter(({ status }) => status !== 409), ...again];
    expect(answered).toHaveLength(50);
    const [id = '', ...others] = await deliveries(subject);
    expect(others).toEqual([]);
    for (const { status, body, location } of answered) {
      expect([status, body, location]).toEqual([
        202,
        { id, status: 'pending' },
        `/v1/deliveries/${id}`,
      ]);
    }
    const replayed = answered.filter(({ headers }) => headers.get('idempotency-replayed'));
    expect(replayed).toHaveLength(49);
  });

  it('is another request with another body, path, route or caller', async () => {
    const { post } = await openDeliveryApi(database());
    const [key, subject] = [randomUUID(), randomUUID()];
    const first = await post('/v1/deliveries', { ...email, subject }, under(key));
    const other = await post('/v1/deliveries', { ...email, subject, body: '' }, under(key));
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency_key_reused']);
    const { body: turned, channel, to } = email;
    const reordered = await post(
      '/v1/deliveries',
      { body: turned, subject, to, channel },
      under(key),
    );
    expect(reordered.body).toEqual(first.body);

    const redrive = (id: string) => post(`/v1/deliveries/${id}/redrive`, undefined, under(key));
    expect((await redrive(String(first.body['id']))).status).toBe(409);
    expect((await redrive(randomUUID())).body['code']).toBe('idempotency_key_reused');

    const token = await tokenOf('somebody else');
    const theirs = await post('/v1/deliveries', { ...email, subject }, { ...under(key), token });
    expect(theirs.status).toBe(202);
    expect(theirs.body['id']).not.toBe(first.body['id']);
    expect(await deliveries(subject)).toHaveLength(2);
  });

  it('keeps the refusal that it got, and nothing for a mistake in the body', async () => {
    const { post } = await openDeliveryApi(database());
    const [key, subject] = [randomUUID(), randomUUID()];
    const wrong = await post('/v1/deliveries', { ...email, to: 'ada', subject }, under(key));
    expect(wrong.status).toBe(422);
    const { body } = await post('/v1/deliveries', { ...email, subject }, under(key));
    const path = `/v1/deliveries/${body['id']}/redrive`;
    const refused = await post(path, undefined, under(key));
    expect(refused.status).toBe(409);
    await force(database(), String(body['id']), "status = 'dead', attempts = 1");
    const same = await post(path, undefined, under(key));
    expect([same.status, same.body]).toEqual([409, refused.body]);
    expect((await post(path, undefined, under(randomUUID()))).status).toBe(202);
  });

  it('has a key that can be one', async () => {
    const { post } = await openDeliveryApi(database());
    for (const key of ['', 'a b', 'x'.repeat(256), 'ü']) {
      const refused = await post('/v1/deliveries', email, under(key));
      expect(refused.body).toMatchObject({
        code: 'invalid_headers',
        errors: [{ pointer: '/idempotency-key' }],
      });
    }
    expect((await post('/v1/deliveries', email, under('!~'))).status).toBe(202);
  });

  it('is sent away at once while the first one runs', async () => {
    const [begun, go] = [signal(), signal()];
    const slow = route({
      method: 'post',
      path: '/v1/slow',
      scope: 'metrics:read',
      summary: 'Wait',
      answers: { 200: z.strictObject({ n: z.int() }) },
      idempotent: true,
    }).handle(async () => {
      begun.give();
      await go.given;
      return { status: 200, body: { n: 1 } };
    });
    const { post } = await openApi({ database: database(), routes: [slow] });
    const key = randomUUID();
    const first = post('/v1/slow', undefined, under(key));
    await begun.given;
    const second = await post('/v1/slow', undefined, under(key));
    expect(second.body['code']).toBe('request_in_progress');
    go.give();
    expect((await first).body).toEqual({ n: 1 });
  });

  it('takes back what a refused one wrote, and keeps nothing of what broke', async () => {
    const no = problemKind('no', 409, 'No');
    let how: 'refuse' | 'break' | 'do' = 'refuse';
    const fickle = route({
      method: 'post',
      path: '/v1/fickle',
      scope: 'metrics:read',
      summary: 'Do or not',
      answers: { 200: z.strictObject({ id: z.string() }) },
      problems: [no],
      idempotent: true,
    }).handle(async ({ tx }) => {
      const [id = ''] = await enqueueIn(tx, 1, { message_key: 'fickle' });
      if (how === 'refuse') return problem(no, 'Not this time.');
      if (how === 'break') throw new Error('broken');
      return { status: 200, body: { id } };
    });
    const { post } = await openApi({ database: database(), routes: [fickle] });
    const written = async () => {
      const rows = await database()
        .db.selectFrom('fencepost.delivery')
        .select('id')
        .where('message_key', '=', 'fickle')
        .execute();
      return rows.length;
    };
    const [kept, broken] = [randomUUID(), randomUUID()];
    expect((await post('/v1/fickle', undefined, under(kept))).status).toBe(409);
    expect((await post('/v1/fickle')).status).toBe(409);
    how = 'break';
    expect((await post('/v1/fickle', undefined, under(broken))).status).toBe(500);
    expect(await written()).toBe(0);
    expect([await keptKeys(kept), await keptKeys(broken)]).toMatchObject([[{ status: 409 }], []]);
    how = 'do';
    expect((await post('/v1/fickle', undefined, under(kept))).status).toBe(409);
    expect((await post('/v1/fickle', undefined, under(broken))).status).toBe(200);
    expect(await written()).toBe(1);
  });

  it('is kept for a week, and as long as its run lives', async () => {
    const { post } = await openDeliveryApi(database());
    const [old, young, living] = [randomUUID(), randomUUID(), randomUUID()];
    for (const key of [old, young, living]) {
      const { body } = await post('/v1/deliveries', email, under(key));
      if (key !== old) continue;
      await force(database(), String(body['id']), "status = 'sent', finished_at = now()");
    }
    const age = (key: string, days: number) =>
      sql`update fencepost.idempotency set at = now() - ${days} * interval '1 day' - interval '1 minute'
        where key = ${key}`.execute(database().db);
    await age(old, 7);
    await age(young, 6);
    await age(living, 70);
    const retention = startRetention({ database: database(), log: pino({ enabled: false }) });
    onTestFinished(retention.close);
    await retention.runOnce();
    expect(await keptKeys(old)).toEqual([]);
    expect(await keptKeys(young)).toHaveLength(1);
    expect(await keptKeys(living)).toHaveLength(1);
  });
});

describe('a service that goes away in the middle', () => {
  /** A client whose connection is cut at its n-th statement in all. */
  function cuttingAt(n: number, when: 'before' | 'after') {
    let sent = 0;
    class Cutting extends pg.Client {
      override query(...args: unknown[]): never {
        const send = () => Reflect.apply(super.query, this, args) as Promise<unknown>;
        const cut = () => {
          (this as unknown as { connection: pg.Connection }).connection.stream.destroy();
        };
        sent += 1;
        if (sent !== n) return send() as never;
        if (when === 'before') cut();
        const answer = send();
        // What was sent arrives; the answer does not.
        if (when === 'after') cut();
        return answer as never;
      }
    }
    return { Cutting, count: () => sent };
  }

  /** A lock that the first connection holds for as long as the server knows it. */
  const holdUntilItsEnd = (over: Database, lock: number) =>
    sql`select pg_advisory_lock(${lock})`.execute(over.db);

  const served = (over: Database) =>
    openApi({
      database: over,
      routes: deliveryRoutes({ database: over, sender: 'me@example.com' }),
    });

  it.each(['before', 'after'] as const)(
    'leaves one effect and one answer, cut %s whichever statement',
    async (when) => {
      const whole = cuttingAt(0, when);
      const counted = await opened({ url: database().url, clientClass: whole.Cutting });
      await holdUntilItsEnd(counted, 0);
      const begun = whole.count();
      await (await served(counted)).post('/v1/deliveries', email, under(randomUUID()));
      const statements = whole.count() - begun;
      expect(statements).toBeGreaterThan(7);
      const healthy = await served(database());
      const beside = await connected(new pg.Client({ connectionString: database().url }));
      for (let n = 1; n <= statements; n += 1) {
        const { Cutting } = cuttingAt(begun + n, when);
        const broken = await opened({ url: database().url, connections: 1, clientClass: Cutting });
        await holdUntilItsEnd(broken, n);
        const [key, subject] = [randomUUID(), randomUUID()];
        const { post } = await served(broken);
        const first = await post('/v1/deliveries', { ...email, subject }, under(key));
        // The server may still be on the way to what it was sent; then it ends that connection.
        await beside.query('select pg_advisory_lock($1)', [n]);
        const answer = await healthy.post('/v1/deliveries', { ...email, subject }, under(key));
        const ids = await deliveries(subject);
        expect([answer.status, ids], `statement ${n}`).toEqual([202, [answer.body['id']]]);
        if (first.status === 202) expect(first.body, `statement ${n}`).toEqual(answer.body);
      }
    },
  );

  it('answers the retry as it would have, when it was killed behind the commit', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fencepost-idempotency-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const listener = await connected(new pg.Client({ connectionString: database().url }));
    const committed = signal();
    const [key, subject] = [randomUUID(), randomUUID()];
    // Those of earlier tests come too; this one's come when its delivery is there.
    listener.on('notification', async () => {
      if ((await deliveries(subject)).length > 0) committed.give();
    });
    await listener.query(`listen ${wakeChannel}`);
    const env = { DATABASE_URL: database().url, SMTP_URL: 'smtp://127.0.0.1:9' };
    const ask = async (url: string) => {
      const token = (await readFile(join(folder, '.fencepost/token'), 'utf8')).trim();
      return await fetch(`${url}/v1/deliveries`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ ...email, subject }),
      });
    };
    const first = spawnServer(folder, env);
    onTestFinished(() => first.kill('SIGKILL'));
    // Whether it still comes does not matter: nobody looks at it.
    const lost = ask(await first.url()).catch(() => undefined);
    await committed.given;
    first.kill('SIGKILL');
    await first.ended;
    await lost;

    const second = spawnServer(folder, env);
    onTestFinished(async () => {
      second.kill('SIGKILL');
      await second.ended;
    });
    const answer = await ask(await second.url());
    expect(answer.headers.get('idempotency-replayed')).toBe('true');
    const { id } = await answer.json();
    expect(await deliveries(subject)).toEqual([id]);
  });
});
