// server.ts as a process of its own, in a folder of its own, as a user would start it. Called by
// the tests of the whole service.
//
// - Everything is waited for by the process's own lines: a line that has come is found at once.
// - A wait rejects with all output when the process ends first.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { programOf } from './programs.ts';

const logEntry = z.looseObject({ msg: z.string() });
type LogEntry = z.output<typeof logEntry>;

const script = join(import.meta.dirname, '..', '..', 'server.ts');

function readEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined;
  return logEntry.parse(JSON.parse(line));
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves with the first log entry with this message, also one that has come already. */
  logged(message: string): Promise<LogEntry>;
  /** The service's address, once it listens. */
  url(): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when the process is gone, with its exit code; null after a signal. */
  readonly ended: Promise<number | null>;
  /** All that it wrote, standard error included. */
  output(): string;
}

/** Starts the service in `folder`, on a free port, with nothing of this process's environment. */
export function spawnServer(folder: string, env: Readonly<Record<string, string>>): ServerProcess {
  const child: ChildProcess = spawn(process.execPath, [...programOf(script)], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const entries: LogEntry[] = [];
  const waiting = new Set<() => void>();
  let isGone = false;
  const look = () => {
    for (const each of waiting) each();
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) throw new Error('the output is piped');
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      const entry = readEntry(line);
      if (entry) entries.push(entry);
      look();
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    isGone = true;
    look();
    return code;
  });
  const output = () => lines.join('\n');

  function logged(message: string): Promise<LogEntry> {
    return new Promise((resolve, reject) => {
      const find = () => {
        const entry = entries.find(({ msg }) => msg === message);
        if (!entry && !isGone) return;
        waiting.delete(find);
        if (entry) resolve(entry);
        else reject(new Error(`the server ended without "${message}":\n${output()}`));
      };
      waiting.add(find);
      find();
    });
  }

  return {
    pid: child.pid ?? 0,
    logged,
    url: async () => z.string().parse((await logged('listening'))['url']),
    kill: (signal) => child.kill(signal),
    ended,
    output,
  };
}
