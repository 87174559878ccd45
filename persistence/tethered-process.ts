/**
 * Runs a command that cannot outlive this process. Called by whatever starts Postgres or initdb.
 *
 * A shell between the two holds one end of a pipe and this process the other. End of file means
 * that this process is gone, however it went, SIGKILL included; the shell then ends the command,
 * waits for it, and removes what the command would leave behind.
 *
 * - No signal handler is installed. The command lives in a session of its own, so that Ctrl-C in a
 *   terminal does not reach the database while the service still drains.
 * - Standard error is always drained, so that the command never blocks on it. Its end is how the
 *   end of the command is seen: the shell keeps no copy of it, and it cannot wait for the pipe and
 *   for the command at once.
 * - Once `unref` was called, nothing here keeps the event loop alive.
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { SystemUser } from './embedded-user.ts';

export interface TetherOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly user: SystemUser | undefined;
  /** A folder that the shell removes after the command, unless it is released with `keep`. */
  readonly scrap: string | undefined;
  readonly onLine?: (line: string) => void;
}

export interface TetheredProcess {
  /** The last lines of standard error, oldest first. */
  readonly log: readonly string[];
  /** Settles when the command has ended, by itself or not. The shell still waits for `release`. */
  readonly ended: Promise<void>;
  /**
   * Ends the command if it runs, and resolves with its exit code (null: the shell was killed) when
   * command and shell are gone. The first call decides about the scrap folder.
   */
  release(scrap: 'remove' | 'keep'): Promise<number | null>;
  ref(): void;
  unref(): void;
}

const keptLines = 50;

// `read` is a builtin. A `cat` would be one more process of the same user, and after the hard reset
// of a container its id can be the one in a stale postmaster.pid, which then looks alive.
//
// Two signals, because of the moments before Postgres has installed its handlers: the command of a
// background list starts with SIGINT ignored, so SIGTERM ends it there; later SIGTERM alone would
// wait for all clients, and SIGINT turns that into a fast shutdown.
const script = `
scrap=$1
shift
"$@" </dev/null &
command=$!
trap "" INT TERM HUP
exec 2>/dev/null
while read -r word; do
  if [ "$word" = keep ]; then scrap=; fi
done
kill -TERM "$command"
kill -INT "$command"
wait "$command"
code=$?
if [ -n "$scrap" ]; then rm -rf -- "$scrap"; fi
exit "$code"
`;

export function spawnTethered(options: TetherOptions): TetheredProcess {
  const { command, args, user, scrap = '', onLine } = options;
  const shell = spawn('/bin/sh', ['-c', script, 'fencepost-tether', scrap, command, ...args], {
    // The current folder may be closed to the other user.
    cwd: '/',
    detached: true,
    env: commandEnvironment(),
    stdio: ['pipe', 'ignore', 'pipe'],
    // On macOS nobody is 2^32 - 2, which spawn takes as -2 only.
    ...(user && { uid: user.uid | 0, gid: user.gid | 0 }),
  });
  const log: string[] = [];
  const keep = (line: string): void => {
    log.push(line);
    if (log.length > keptLines) log.shift();
  };

  const lines = createInterface({ input: shell.stderr });
  lines.on('line', (line) => {
    keep(line);
    onLine?.(line);
  });
  const ended = new Promise<void>((resolve) => lines.once('close', resolve));
  const closed = new Promise<number | null>((resolve) => shell.once('close', resolve));
  shell.once('error', (error) => keep(error.message));
  // A shell that is already gone breaks the pipe; `closed` tells the same.
  shell.stdin.on('error', () => {});
  shell.once('exit', (_code, signal) => {
    if (signal !== null) endGroup(shell.pid);
  });

  let released = false;
  // Node makes the pipes of a child from sockets, which the types do not say.
  const handles = [shell, shell.stdin as Socket, shell.stderr as Socket] as const;
  return {
    log,
    ended,
    release(scrapFate) {
      if (!released) shell.stdin.end(scrapFate === 'keep' ? 'keep\n' : '');
      released = true;
      return closed;
    },
    ref: () => {
      for (const handle of handles) handle.ref();
    },
    unref: () => {
      for (const handle of handles) handle.unref();
    },
  };
}

/** Only what the command needs: PGDATA, PGOPTIONS, LANG and their like must not leak into it. */
function commandEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    LC_ALL: 'C',
    TZ: 'UTC',
    // A stale lock file that happens to hold the id of this process is no running server.
    PG_GRANDPARENT_PID: String(process.pid),
  };
}

/** The shell ignores every signal that asks; one that was killed cannot end the command itself. */
function endGroup(group: number | undefined): void {
  if (group === undefined) return;
  try {
    process.kill(-group, 'SIGINT');
  } catch {
    // The command was gone before.
  }
}
