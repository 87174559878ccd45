/**
 * A real Postgres that belongs to this process: starts it, says where it is, stops it. Called by
 * server.ts where DATABASE_URL is not set, and by the test harness.
 *
 * - The server never outlives this process (tethered-process), and a throwaway one takes its data
 *   folder with it, after SIGKILL too.
 * - One server a data folder. A predecessor that is still going down is waited for; one that stays
 *   is named in the error.
 * - A running server does not keep the event loop alive: a process whose own work is done ends, and
 *   the server with it. `stop()` does keep it alive, so that it can be awaited.
 *
 * Left out on purpose: a restart when the server dies (`exited` tells; the process that watches
 * this one decides), and upgrades of a data folder from one major version to the next.
 */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findPostgresBinaries } from './embedded-binaries.ts';
import { databaseUser, prepareDataDir, readPassword } from './embedded-data-dir.ts';
import type { LockHolder } from './embedded-lock.ts';
import { awaitLockRelease, readLock } from './embedded-lock.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { SystemUser } from './embedded-user.ts';
import { assertReachable, postgresUser } from './embedded-user.ts';
import type { TetheredProcess } from './tethered-process.ts';
import { spawnTethered } from './tethered-process.ts';

export interface EmbeddedPostgresOptions {
  /** Made, with its parents, if it is missing. A throwaway server insists that it is. */
  readonly dataDir: string;
  /** Whether the data folder is removed when the server ends, however that comes about. */
  readonly throwaway: boolean;
  /** Left out, a free one is taken. */
  readonly port?: number;
  /** Server settings on top of those that every embedded server gets. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgresExit {
  /** The server's exit code; null when the shell that held it was killed. */
  readonly code: number | null;
  /** The last lines that the server logged. */
  readonly log: readonly string[];
}

export interface EmbeddedPostgres {
  /** Of the database `postgres`, with user and password. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly postmasterPid: number;
  /** Resolves, never rejects, when the server is gone: asked for or not. */
  readonly exited: Promise<EmbeddedPostgresExit>;
  /** Disconnects all clients and resolves when the server is gone. Can be called again. */
  stop(): Promise<void>;
}

const startLimitMs = 30_000;
const maxStarts = 10;

/**
 * Starts a server and resolves when it accepts connections.
 *
 * @throws EmbeddedPostgresError
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const { postgres, initdb } = await findPostgresBinaries();
  const user = await postgresUser(dataDir);
  await assertReachable(dirname(postgres), user);
  const { throwaway } = options;
  const password = await prepareDataDir({ dataDir, initdb, user, throwaway });
  // prepareDataDir vouches that a throwaway folder was made here, so that no other is removed. The
  // shell has done it before, unless it was killed or lacks the right to change the parent folder.
  const removeThrowaway = async (): Promise<void> => {
    if (throwaway) await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const { server, holder } = await startUntilReady({ ...options, dataDir, postgres, user });
    server.unref();
    const exited = server.ended.then(async () => {
      const code = await server.release('remove');
      // A folder that resists is no reason to lose the news that the server is gone.
      await removeThrowaway().catch(() => {});
      return { code, log: server.log };
    });
    return {
      url: serverUrl(password, holder.port),
      port: holder.port,
      dataDir,
      postmasterPid: holder.pid,
      exited,
      async stop() {
        server.ref();
        await server.release('remove');
        await exited;
      },
    };
  } catch (error) {
    await removeThrowaway();
    throw error;
  }
}

/**
 * Returns the address of the server that runs on a data folder, whoever started it, if one does.
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | undefined> {
  const holder = await readLock(resolve(dataDir));
  return holder && serverUrl(await readPassword(resolve(dataDir)), holder.port);
}

const serverUrl = (password: string, port: number): string =>
  `postgres://${databaseUser}:${password}@127.0.0.1:${port}/postgres`;

/**
 * Returns the address of another database of the same server.
 * @throws RangeError for a name with ? or #, which node-postgres cannot read from an address.
 */
export function databaseUrl(url: string, name: string): string {
  if (/[?#]/.test(name)) throw new RangeError(`"${name}" cannot be part of an address`);
  const other = new URL(url);
  // The driver decodes by decodeURI, which leaves what encodeURI leaves.
  other.pathname = `/${encodeURI(name)}`;
  return other.href;
}

interface StartPlan extends EmbeddedPostgresOptions {
  readonly postgres: string;
  readonly user: SystemUser | undefined;
}

async function startUntilReady(
  plan: StartPlan,
): Promise<{ readonly server: TetheredProcess; readonly holder: LockHolder }> {
  const { dataDir } = plan;
  for (let starts = 1; ; starts++) {
    const port = plan.port ?? (await freePort());
    const { server, ready } = await startOnce(plan, port);
    const self = ready ? await readLock(dataDir) : undefined;
    if (self !== undefined) return { server, holder: self };

    await server.release('keep');
    if (starts < maxStarts && isLocked(server.log)) {
      const holder = await awaitLockRelease(dataDir);
      if (holder === undefined) continue;
      const message = `Process ${holder.pid} holds ${dataDir} and serves port ${holder.port}.`;
      throw new EmbeddedPostgresError('already_running', message, { holder });
    }
    // A free port can be taken before Postgres has it; a port that was asked for stays taken.
    if (starts < maxStarts && plan.port === undefined && isPortTaken(server.log)) continue;
    const message = `Postgres did not get ready on port ${port} with ${dataDir}.`;
    throw new EmbeddedPostgresError('start_failed', [message, ...server.log].join('\n'));
  }
}

/** Resolves when the server is ready, when it has ended, or when it takes too long. */
function startOnce(
  plan: StartPlan,
  port: number,
): Promise<{ readonly server: TetheredProcess; readonly ready: boolean }> {
  return new Promise((settle) => {
    const server = spawnTethered({
      command: plan.postgres,
      args: ['-D', plan.dataDir, '-p', String(port), ...settingArguments(plan.settings)],
      user: plan.user,
      scrap: plan.throwaway ? plan.dataDir : undefined,
      onLine: (line) => {
        if (line.includes('database system is ready to accept connections')) finish(true);
      },
    });
    const limit = setTimeout(() => finish(false), startLimitMs);
    const finish = (ready: boolean): void => {
      clearTimeout(limit);
      settle({ server, ready });
    };
    server.ended.then(() => finish(false));
  });
}

function settingArguments(settings: EmbeddedPostgresOptions['settings']): string[] {
  const all = {
    max_connections: '200',
    // A client that is gone gives up its locks within 2 s. One that stopped to read (measured with
    // SIGSTOP in the middle of a large answer) defeats every statement, idle and transaction
    // timeout, and only the second setting frees its locks. macOS lacks it and would complain.
    client_connection_check_interval: '2s',
    ...(process.platform === 'linux' && { tcp_user_timeout: '10s' }),
    ...settings,
    // The rest is relied upon here and in the address, and not for callers to change. The log is
    // read by this file: in English, with the SQLSTATE.
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    lc_messages: 'C',
    log_line_prefix: '%m [%p] %e ',
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** SQLSTATE lock_file_exists: of postmaster.pid, or of shared memory that children still hold. */
function isLocked(log: readonly string[]): boolean {
  return log.some((line) => line.includes(' F0001 '));
}

/** A port in use has no SQLSTATE of its own, hence the text. */
function isPortTaken(log: readonly string[]): boolean {
  return log.some((line) => line.includes('could not bind IPv4 address'));
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address() as AddressInfo;
  await promisify(probe.close.bind(probe))();
  return port;
}
