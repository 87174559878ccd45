/**
 * Makes the data folder of the embedded Postgres, once. Called by embedded-postgres.
 *
 * - A data folder is complete or absent: initdb works in a staging folder beside it, and one rename
 *   publishes the result. Killed halfway, it leaves nothing that a later start would trip over.
 * - Two processes may do it at once: the second rename is refused, and the first one's stays.
 * - The server listens on 127.0.0.1, where every user of the machine can knock. So it asks for a
 *   password, which lies in the data folder, readable by its owner alone.
 * - UTF8 with the collation C.UTF-8 that is built into Postgres 17 and later: the same order on
 *   every system, whatever locales it has (macOS lacks C.UTF-8), and never changed by an upgrade.
 */
import { randomBytes } from 'node:crypto';
import {
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { SystemUser } from './embedded-user.ts';
import { assertReachable } from './embedded-user.ts';
import { spawnTethered } from './tethered-process.ts';

export const databaseUser = 'fencepost';

const passwordFile = 'fencepost.password';

export interface DataDirOptions {
  readonly dataDir: string;
  readonly initdb: string;
  readonly user: SystemUser | undefined;
  /** Such a folder is removed afterwards, so it must be one that was made here. */
  readonly throwaway: boolean;
}

/**
 * Makes the data folder unless it is there, and returns the password of its superuser.
 *
 * @throws EmbeddedPostgresError `init_failed` or `data_dir_unreachable`
 */
export async function prepareDataDir(options: DataDirOptions): Promise<string> {
  const { dataDir, user, throwaway } = options;
  await mkdir(dirname(dataDir), { recursive: true });
  await assertReachable(dirname(dataDir), user);
  const present = await readdir(dataDir).catch(ignoreMissing);
  const isCluster = present?.includes('PG_VERSION') ?? false;
  if (present !== undefined && (throwaway || (!isCluster && present.length > 0))) {
    throw notOurs(dataDir);
  }
  if (!isCluster && !(await initialize(options)) && throwaway) throw notOurs(dataDir);
  return readPassword(dataDir);
}

/** Returns false when another process published the folder first. */
async function initialize(options: DataDirOptions): Promise<boolean> {
  const { dataDir, initdb, user, throwaway } = options;
  const staging = await mkdtemp(`${dataDir}.new-`);
  const cluster = join(staging, 'cluster');
  const password = join(staging, passwordFile);
  try {
    await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
    if (user !== undefined) {
      await chown(password, user.uid, user.gid);
      await chown(staging, user.uid, user.gid);
    }
    const args = ['-D', cluster, '--username', databaseUser, `--pwfile=${password}`];
    args.push('--auth=scram-sha-256', '--encoding=UTF8', '--no-instructions');
    args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
    if (throwaway) args.push('--no-sync');
    const run = spawnTethered({ command: initdb, args, user, scrap: staging });
    await run.ended;
    // From here on this process is the one that cleans up.
    const code = await run.release('keep');
    if (code !== 0) {
      const message = `initdb ended with ${code} for ${dataDir}.\n${run.log.join('\n')}`;
      throw new EmbeddedPostgresError('init_failed', message);
    }
    await rename(password, join(cluster, passwordFile));
    return await publish(cluster, dataDir);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function publish(cluster: string, dataDir: string): Promise<boolean> {
  try {
    await rename(cluster, dataDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
  // initdb has flushed what is inside the folder; its name in the parent is flushed here.
  const parent = await open(dirname(dataDir));
  await parent.sync().finally(() => parent.close());
  return true;
}

/** Reads the password of the superuser of a data folder. */
export async function readPassword(dataDir: string): Promise<string> {
  try {
    return await readFile(join(dataDir, passwordFile), 'utf8');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'data_dir_unreachable',
      `${dataDir} holds a database, but ${passwordFile} in it cannot be read: ` +
        'it was made by another program or another user. Choose another folder.',
      { cause },
    );
  }
}

function notOurs(dataDir: string): EmbeddedPostgresError {
  const message = `${dataDir} exists and is not ours to use: choose a folder that does not exist.`;
  return new EmbeddedPostgresError('init_failed', message);
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
