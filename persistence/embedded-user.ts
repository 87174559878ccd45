/**
 * As whom the embedded Postgres runs, and whether that user can get at its files. Postgres refuses
 * to run as root; as any other user it simply runs as that one. Called by embedded-postgres.
 */
import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns the user to switch to, or undefined where this process is not root. A data folder that
 * exists is run by its owner, so that one made without root is not taken away from its user.
 *
 * @throws EmbeddedPostgresError `start_failed` where there is no user nobody
 */
export async function postgresUser(dataDir: string): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const folder = await stat(dataDir).catch(() => undefined);
  if (folder !== undefined && folder.uid !== 0) return { uid: folder.uid, gid: folder.gid };
  try {
    const [uid, gid] = await Promise.all([idOfNobody('-u'), idOfNobody('-g')]);
    return { uid, gid };
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'start_failed',
      'Postgres refuses to run as root, and this system has no user nobody: ' +
        'run as another user, or set DATABASE_URL.',
      { cause },
    );
  }
}

async function idOfNobody(flag: '-u' | '-g'): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [flag, 'nobody']);
  return Number(stdout);
}

/**
 * Checks that the user may pass every folder from the root down to this one. Access lists are left
 * out: they are rare, and Postgres itself then reports what it cannot open.
 *
 * @throws EmbeddedPostgresError `data_dir_unreachable`, with the folder and the fix
 */
export async function assertReachable(folder: string, user: SystemUser | undefined): Promise<void> {
  if (user === undefined) return;
  for (let path = await realpath(folder); ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path);
    const passBit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & passBit) === 0) {
      throw new EmbeddedPostgresError(
        'data_dir_unreachable',
        `Postgres does not run as root, and user ${user.uid} cannot pass ${path}: ` +
          `run chmod o+x ${path}, or run as another user, or set DATABASE_URL.`,
      );
    }
    if (path === dirname(path)) return;
  }
}
