import { once } from 'node:events';
import { existsSync, readFileSync, watch } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RawBuilder, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../persistence/database.ts';
import { transaction } from '../persistence/transaction.ts';
import { useDatabase } from './support/database.ts';
import { gate, openMailSink } from './support/mail-sink.ts';
import { type ServerProcess, spawnServer } from './support/server-process.ts';
import { signal } from './support/signal.ts';

let folder: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fencepost-server-'));
  // Postgres runs as another user where the tests run as root.
  await chmod(folder, 0o755);
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await postgresEnded();
  await rm(folder, { recursive: true, force: true });
});

function serve(env: Readonly<Record<string, string>> = {}): ServerProcess {
  const server = spawnServer(folder, { LOG_LEVEL: 'debug', ...env });
  cleanups.push(() => {
    server.kill('SIGKILL');
    return server.ended;
  });
  return server;
}

const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };

/** With the token that the service left for whoever can read its folder. */
const authorization = async () =>
  `Bearer ${(await readFile(join(folder, '.fencepost/token'), 'utf8')).trim()}`;

async function post(server: ServerProcess, body: unknown, type = 'application/json') {
  const url = await server.url();
  const response = await fetch(`${url}/v1/deliveries`, {
    method: 'POST',
    headers: { 'content-type': type, authorization: await authorization() },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { response, answer: await response.json() };
}

async function get(server: ServerProcess, path: string) {
  const url = await server.url();
  const headers = { authorization: await authorization() };
  const response = await fetch(url + path, { headers });
  return { response, answer: await response.json() };
}

const postmasterPid = () =>
  Number(readFileSync(join(folder, '.fencepost/postgres/postmaster.pid'), 'utf8').split('\n')[0]);
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A Postgres whose service was killed is on its way out: it takes its pid file away last. */
async function postgresEnded(): Promise<void> {
  const data = join(folder, '.fencepost/postgres');
  if (!existsSync(join(data, 'postmaster.pid'))) return;
  await new Promise<void>((resolve) => {
    const watcher = watch(data, () => look());
    const look = () => {
      if (existsSync(join(data, 'postmaster.pid')) && isAlive(postmasterPid())) return;
      watcher.close();
      resolve();
    };
    look();
  });
}

describe('a service with its own Postgres', () => {
  it('delivers to its mailbox, keeps a second start out, and leaves nothing running', async () => {
    const server = serve();
    const { response, answer } = await post(server, email);
    expect(response.status).toBe(202);
    expect(answer).toEqual({ id: expect.any(String), status: 'pending' });
    expect(response.headers.get('location')).toBe(`/v1/deliveries/${answer.id}`);
    expect(await server.logged('delivery: sent')).toMatchObject({ delivery: answer.id });

    const { answer: delivery } = await get(server, `/v1/deliveries/${answer.id}`);
    expect(delivery).toMatchObject({ status: 'sent', attempts: 1, failures: 0 });
    expect(delivery.journal).toMatchObject([
      { seq: 1, event: 'claim', from: 'pending', to: 'processing' },
      { seq: 2, event: 'sent', from: 'processing', to: 'sent' },
    ]);
    const page = await (await fetch(`${await server.url()}/dev/mailbox`)).text();
    expect(page).toContain(delivery.messageKey.replace('<', '&lt;').replace('>', '&gt;'));
    expect(page).toContain('ada@example.com');

    const postgres = postmasterPid();
    const second = serve();
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`process ${server.pid} serves ${await server.url()}`);
    expect(second.output()).toContain(`Postgres is process ${postgres}`);

    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(isAlive(postgres)).toBe(false);
    expect(await readdir(join(folder, '.fencepost'))).toEqual([
      'identity.json',
      'postgres',
      'token',
    ]);
  });

  it('sends again what was being sent when it was killed, once the lease has lapsed', async () => {
    const stage = gate();
    const silent = await openMailSink(async () => {
      await stage.pass();
      return undefined;
    });
    cleanups.push(silent.close);
    const short = { LEASE_MS: '3000', SEND_TIMEOUT_MS: '2000', REAP_MS: '100', POLL_MS: '100' };
    const first = serve({ ...short, SMTP_URL: silent.url });
    const { answer } = await post(first, email);
    await stage.arrived;
    first.kill('SIGKILL');
    expect(await first.ended).toBeNull();

    const second = serve(short);
    await second.logged('delivery: sent');
    const { answer: delivery } = await get(second, `/v1/deliveries/${answer.id}`);
    expect(delivery).toMatchObject({ status: 'sent', attempts: 2, leaseLosses: 1, failures: 0 });
    expect(delivery.journal.map((entry: { event: string }) => entry.event)).toEqual([
      'claim',
      'lease.expired',
      'claim',
      'sent',
    ]);
  });

  it('ends with 1, and its Postgres with it, when its port is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    cleanups.push(async () => squatter.close());
    const { port } = squatter.address() as AddressInfo;
    const server = serve({ PORT: String(port) });
    expect(await server.ended).toBe(1);
    expect(server.output()).toContain('EADDRINUSE');
    expect(server.output()).not.toContain('ended by itself');
    expect(existsSync(join(folder, '.fencepost/postgres/postmaster.pid'))).toBe(false);
  });

  it('starts that Postgres again when it dies, says 503 meanwhile, and goes on', async () => {
    const server = serve({ POLL_MS: '100' });
    await server.url();
    const before = postmasterPid();
    process.kill(before, 'SIGKILL');
    await server.logged('the embedded Postgres ended by itself');
    const { response, answer } = await get(server, '/readyz');
    expect([response.status, answer]).toEqual([503, { status: 'database_away' }]);
    const refused = await post(server, email);
    expect([refused.response.status, refused.answer.code]).toEqual([503, 'database_away']);

    await server.logged('the embedded Postgres runs again');
    expect(postmasterPid()).not.toBe(before);
    await server.logged('claims again');
    const { answer: delivery } = await post(server, email);
    expect(await server.logged('delivery: sent')).toMatchObject({ delivery: delivery.id });
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  });
});

describe('a service with a Postgres of somebody else', () => {
  const url = useDatabase();
  const serveHere = (env: Readonly<Record<string, string>> = {}) =>
    serve({ DATABASE_URL: url(), ...env });
  /** Asks the database beside the service. */
  async function query<T>(statement: RawBuilder<T>): Promise<readonly T[]> {
    const database = await openDatabase({ url: url(), connections: 1 });
    try {
      return (await statement.execute(database.db)).rows;
    } finally {
      await database.close();
    }
  }

  it('answers wrong input with named problems and writes nothing', async () => {
    const server = serveHere();
    const rejected = async (body: unknown) => {
      const { response, answer } = await post(server, body);
      expect(response.status).toBe(422);
      expect(response.headers.get('content-type')).toContain('application/problem+json');
      expect(answer).toMatchObject({ code: 'invalid_request', status: 422 });
      return answer.errors.map((error: { code: string; pointer: string }) => [
        error.code,
        error.pointer,
      ]);
    };
    const one = (fields: object) => rejected({ ...email, ...fields });
    expect(await rejected({})).toEqual([['missing', '/channel']]);
    expect(await rejected({ channel: 'email' })).toEqual([
      ['missing', '/to'],
      ['missing', '/subject'],
      ['missing', '/body'],
    ]);
    expect(await rejected([email])).toEqual([['wrong_type', '']]);
    expect(await one({ channel: 'pigeon' })).toEqual([['unknown_channel', '/channel']]);
    for (const to of ['ada', 'a@b.c, d@e.f', 'A <a@b.c>', 'a@b.c\r\nBcc: d@e.f', '', 'ä@b.c']) {
      expect(await one({ to })).toEqual([['bad_address', '/to']]);
    }
    expect(await one({ subject: 'a\r\nBcc: d@e.f' })).toEqual([['line_break', '/subject']]);
    expect(await one({ subject: 'a\u0000' })).toEqual([['nul', '/subject']]);
    expect(await one({ subject: 'a'.repeat(999) })).toEqual([['too_long', '/subject']]);
    expect(await one({ body: '\ud800' })).toEqual([['lone_surrogate', '/body']]);
    expect(await one({ body: '\u0007' })).toEqual([['control_character', '/body']]);
    expect(await one({ body: 'a'.repeat(1_048_577) })).toEqual([['too_long', '/body']]);
    expect(await one({ body: 10 })).toEqual([['wrong_type', '/body']]);
    expect(await one({ 'b~/': 1 })).toEqual([['unknown_key', '/b~0~1']]);
    const proto = JSON.stringify(email).replace('{', '{"__proto__":{},');
    expect(await rejected(proto)).toEqual([['unknown_key', '/__proto__']]);

    const refused = async (body: string, type?: string) => {
      const { response, answer } = await post(server, body, type);
      expect(answer).toMatchObject({ status: response.status, code: expect.any(String) });
      expect(JSON.stringify(answer)).not.toContain('.ts:');
      return [response.status, answer.code];
    };
    expect(await refused('{"channel":')).toEqual([400, 'malformed_json']);
    expect(await refused('channel=email', 'text/plain')).toEqual([415, 'unsupported_media_type']);
    expect(await refused(`"${'a'.repeat(9_000_000)}"`)).toEqual([413, 'body_too_large']);
    const missing = async (path: string) => (await get(server, path)).answer.code;
    expect(await missing('/nowhere')).toBe('not_found');
    expect(await missing('/v1/deliveries/12')).toBe('invalid_path');
    expect(await missing('/v1/deliveries/%zz')).toBe('malformed_request');
    expect(await missing(`/v1/deliveries/${crypto.randomUUID()}`)).toBe('delivery_not_found');
    expect(await query(sql`select id from fencepost.delivery`)).toEqual([]);
  });

  it('lets the running send end on SIGTERM and then exits with 0', async () => {
    const stage = gate();
    const slow = await openMailSink(async (each) => {
      if (each === 'data') await stage.pass();
      return undefined;
    });
    cleanups.push(slow.close);
    const server = serveHere({ SMTP_URL: slow.url });
    const { answer } = await post(server, email);
    await stage.arrived;
    server.kill('SIGTERM');
    await server.logged('stopping');
    expect((await get(server, '/healthz')).response.status).toBe(503);
    const { response, answer: ready } = await get(server, '/readyz');
    expect([response.status, ready]).toEqual([503, { status: 'stopping' }]);
    stage.open();
    expect(await server.ended).toBe(0);
    const written = sql`select status, attempts from fencepost.delivery where id = ${answer.id}`;
    expect(await query(written)).toEqual([{ status: 'sent', attempts: 1 }]);
  });

  it('says that it is starting until it is ready', async () => {
    const holder = await openDatabase({ url: url(), connections: 1 });
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    const base = `http://127.0.0.1:${port}`;
    const asked = signal();
    let server: ServerProcess | undefined;
    const locking = transaction(holder, async (tx) => {
      await sql`lock table fencepost.machine_installed in access exclusive mode`.execute(tx);
      server = serveHere({ PORT: String(port) });
      await server.logged('http is open');
      const ready = await fetch(`${base}/readyz`);
      expect([ready.status, await ready.json()]).toEqual([503, { status: 'starting' }]);
      const posted = await fetch(`${base}/v1/deliveries`, { method: 'POST' });
      expect([posted.status, (await posted.json()).code]).toEqual([503, 'starting']);
      asked.give();
    });
    await asked.given;
    await locking;
    await holder.close();
    await server?.url();
    const ready = await fetch(`${base}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }]);
  });

  it('outlives the loss of all its connections and delivers again', async () => {
    const server = serveHere({ POLL_MS: '100' });
    await server.url();
    const ended = await query(sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
    await server.logged('nobody wakes the workers, they poll');
    let posted = await post(server, email);
    // A connection whose end was not noticed yet costs one answer that says so, and is gone.
    for (let left = ended.length; posted.response.status === 503 && left > 0; left -= 1) {
      posted = await post(server, email);
    }
    const { response, answer } = posted;
    expect(response.status).toBe(202);
    expect(await server.logged('delivery: sent')).toMatchObject({ delivery: answer.id });
  });

  it('names every mistake in its configuration and does not start', async () => {
    const server = serveHere({ PORT: 'x', LEASE_MS: '1000' });
    expect(await server.ended).toBe(1);
    expect(server.output()).toMatch(/PORT: .*/);
  });

  it('ends at once on a second signal, and gives back what was not heard of', async () => {
    const stage = gate();
    const silent = await openMailSink(async () => {
      await stage.pass();
      return undefined;
    });
    cleanups.push(silent.close);
    const server = serveHere({ SMTP_URL: silent.url, SHUTDOWN_GRACE_MS: '60000' });
    const { answer } = await post(server, email);
    await stage.arrived;
    server.kill('SIGTERM');
    await server.logged('stopping');
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    const written = sql`select status, failures from fencepost.delivery where id = ${answer.id}`;
    expect(await query(written)).toEqual([{ status: 'pending', failures: 0 }]);
  });
});
