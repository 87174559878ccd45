import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, watch } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findPostgresBinaries, linkLibraries } from '../../persistence/embedded-binaries.ts';
import { databaseUrl, startEmbeddedPostgres } from '../../persistence/embedded-postgres.ts';

const isRoot = process.getuid?.() === 0;
const settings = { fsync: 'off' };

// Everything a test makes lies in here, and everything it started is ended before the next.
let home: string;
let dataDir: string;
const cleanups: (() => unknown)[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'fencepost-embedded-'));
  // The user nobody, who runs Postgres for root, removes its own folders from here.
  await chmod(home, 0o777);
  dataDir = join(home, 'data');
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(home, { recursive: true, force: true });
});

async function start(options: { readonly throwaway: boolean; readonly port?: number }) {
  const server = await startEmbeddedPostgres({ dataDir, settings, ...options });
  cleanups.push(server.stop);
  return server;
}

/** Starts a server from a process of its own, which the test may kill. */
function spawnParent(options: { readonly throwaway: boolean }) {
  const script = join(import.meta.dirname, 'embedded-postgres.parent.ts');
  const argument = JSON.stringify({ dataDir, settings, ...options });
  const parent = spawn(process.execPath, ['--import', 'tsx', script, argument], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  cleanups.push(() => kill(parent));
  const ready = once(createInterface({ input: parent.stdout }), 'line').then(
    ([line]) => JSON.parse(line) as { readonly url: string; readonly postmasterPid: number },
  );
  return { parent, ready };
}

async function kill(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exit = once(process, 'exit');
  process.kill('SIGKILL');
  await exit;
}

/** Resolves when the condition holds, which is judged whenever something in the folder changes. */
async function seen(folder: string, condition: () => boolean): Promise<void> {
  const watcher = watch(folder);
  try {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (condition()) resolve();
      };
      watcher.on('change', look);
      look();
    });
  } finally {
    watcher.close();
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown> | undefined> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(text);
    return rows[0];
  } finally {
    await client.end();
  }
}

describe('startEmbeddedPostgres', () => {
  it('sorts UTF-8 by code point, whatever the locale of its parent', async () => {
    const { url } = await start({ throwaway: true });
    const row = await query(
      url,
      `select version(), getdatabaseencoding() as encoding, datlocale, datlocprovider,
              upper('ä') as upper
       from pg_database where datname = current_database()`,
    );
    expect(row).toEqual({
      version: expect.stringContaining('PostgreSQL 18'),
      encoding: 'UTF8',
      datlocale: 'C.UTF-8',
      datlocprovider: 'b',
      upper: 'Ä',
    });
  });

  it('refuses a wrong password', async () => {
    const { url } = await start({ throwaway: true });
    const stranger = new URL(url);
    stranger.password = 'guess';
    await expect(query(stranger.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('keeps the password from other users of the machine', async () => {
    await start({ throwaway: false });
    const { mode } = await lstat(join(dataDir, 'fencepost.password'));
    expect(mode & 0o777).toBe(0o600);
    expect((await lstat(dataDir)).mode & 0o777).toBe(0o700);
  });

  it('removes a throwaway folder on stop, and can be stopped again', async () => {
    const server = await start({ throwaway: true });
    await server.stop();
    await server.stop();
    expect(await server.exited).toMatchObject({ code: 0 });
    expect(readdirSync(home)).toEqual([]);
  });

  it('never takes a folder that exists for a throwaway', async () => {
    await mkdir(dataDir);
    await expect(start({ throwaway: true })).rejects.toMatchObject({ code: 'init_failed' });
    expect(existsSync(dataDir)).toBe(true);
  });

  it('never makes a database in a folder with other files', async () => {
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'thesis.txt'), 'years of work');
    await expect(start({ throwaway: false })).rejects.toMatchObject({ code: 'init_failed' });
    expect(readdirSync(dataDir)).toEqual(['thesis.txt']);
  });

  it('names a port that was asked for and is taken', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    cleanups.push(() => squatter.close());
    const address = squatter.address();
    if (address === null || typeof address === 'string') throw new Error('not a TCP port');
    await expect(start({ throwaway: true, port: address.port })).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('Address already in use'),
    });
    expect(readdirSync(home)).toEqual([]);
  });

  it.runIf(isRoot)('names the folder that the user nobody cannot pass, and the fix', async () => {
    await chmod(home, 0o700);
    await expect(start({ throwaway: true })).rejects.toMatchObject({
      code: 'data_dir_unreachable',
      message: expect.stringContaining(`chmod o+x ${home}`),
    });
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('a parent killed with SIGKILL', () => {
  it('takes a throwaway server and its folder with it, open transactions or not', async () => {
    const { parent, ready } = spawnParent({ throwaway: true });
    const { url, postmasterPid } = await ready;
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    const ended = new Promise((resolve) => client.once('end', resolve));
    await client.connect();
    await client.query('begin; create table left_open ()');

    const gone = seen(home, () => !existsSync(dataDir));
    await kill(parent);
    await Promise.all([ended, gone]);
    // The shell removes the folder only after it has seen the server off.
    expect(() => process.kill(postmasterPid, 0)).toThrow('ESRCH');
    expect(readdirSync(home)).toEqual([]);
  });

  it('leaves a folder that starts at once with all that was committed', async () => {
    const { parent, ready } = spawnParent({ throwaway: false });
    const first = await ready;
    await query(first.url, 'create table kept as select 42 as answer');
    await kill(parent);

    const second = await start({ throwaway: false });
    expect(second.postmasterPid).not.toBe(first.postmasterPid);
    expect(await query(second.url, 'select answer from kept')).toEqual({ answer: 42 });
  });

  it('leaves nothing of a database that was only half made', async () => {
    const { parent } = spawnParent({ throwaway: false });
    await seen(home, () => readdirSync(home).length > 0);
    const staging = join(home, readdirSync(home)[0] ?? '');
    await seen(staging, () => existsSync(join(staging, 'cluster')));
    const gone = seen(home, () => !existsSync(staging));
    await kill(parent);
    await gone;
    expect(readdirSync(home)).toEqual([]);

    const { url } = await start({ throwaway: false });
    expect(await query(url, 'select 1 as one')).toEqual({ one: 1 });
  });
});

describe('one data folder', () => {
  it('refuses a second server, with the process id and port of the first', async () => {
    const { postmasterPid: pid, port } = await start({ throwaway: false });
    await expect(start({ throwaway: false })).rejects.toMatchObject({
      name: 'EmbeddedPostgresError',
      code: 'already_running',
      holder: { pid, port },
    });
  });

  it('is made by one of two that start together, and served by one', async () => {
    const both = await Promise.allSettled([
      start({ throwaway: false }),
      start({ throwaway: false }),
    ]);
    expect(both.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find((outcome) => outcome.status === 'rejected')).toMatchObject({
      reason: { code: 'already_running' },
    });
    expect(readdirSync(home)).toEqual(['data']);
  });
});

it('a shell killed with SIGKILL takes the server with it', async () => {
  const server = await start({ throwaway: true });
  const shell = execFileSync('ps', ['-o', 'ppid=', '-p', String(server.postmasterPid)]);
  process.kill(Number(shell), 'SIGKILL');
  expect(await server.exited).toMatchObject({ code: null });
  await expect(query(server.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(readdirSync(home)).toEqual([]);
});

it('databaseUrl keeps server and user, and escapes the name', () => {
  expect(databaseUrl('postgres://me:secret@127.0.0.1:5432/postgres', 'a b')).toBe(
    'postgres://me:secret@127.0.0.1:5432/a%20b',
  );
});

describe('findPostgresBinaries', () => {
  it('finds programs that exist', async () => {
    const binaries = await findPostgresBinaries();
    expect(Object.values(binaries).every((path) => existsSync(path))).toBe(true);
    expect(dirname(binaries.initdb)).toBe(dirname(binaries.postgres));
  });

  it.each([
    ['win32', 'x64', 'unsupported_platform'],
    ['freebsd', 'x64', 'unsupported_platform'],
    process.platform === 'darwin'
      ? ['linux', 'x64', 'binaries_missing']
      : ['darwin', 'x64', 'binaries_missing'],
  ])('points %s-%s to DATABASE_URL: %s', async (platform, arch, code) => {
    await expect(findPostgresBinaries(platform, arch)).rejects.toMatchObject({
      code,
      message: expect.stringContaining('set DATABASE_URL'),
    });
  });

  it('links the libraries that an install without scripts did not, ten at once', async () => {
    const lib = join(home, 'native', 'lib');
    await mkdir(lib, { recursive: true });
    await writeFile(join(lib, 'libpq.so.5.18'), '');
    const links = ['libpq.so', 'libpq.so.5'];
    const list = links.map((link) => ({
      source: 'native/lib/libpq.so.5.18',
      target: `native/lib/${link}`,
    }));
    await writeFile(join(home, 'native', 'pg-symlinks.json'), JSON.stringify(list));

    await Promise.all(Array.from({ length: 10 }, () => linkLibraries(home)));
    for (const link of links) expect(await readlink(join(lib, link))).toBe('libpq.so.5.18');
  });

  it('says that the libraries cannot be linked in a package that lacks the list', async () => {
    await expect(linkLibraries(home)).rejects.toMatchObject({ code: 'binaries_missing' });
  });
});
