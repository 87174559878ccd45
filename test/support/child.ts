// A process of its own for a test: it runs one small file, and talks in
// lines. The test may stop or kill it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { programOf } from './programs.ts';

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Everything that it wrote to stdout and stderr. */
  readonly output: string;
}

export interface Child {
  readonly process: ChildProcess;
  /** The next line of its stdout. @throws when it ended without one. */
  line(): Promise<string>;
  readonly exit: Promise<Exit>;
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts a file with its arguments. The caller sees to its end. */
export function spawnChild(
  file: string,
  args: readonly string[],
  { env = {}, cwd = process.cwd() }: Surroundings = {},
): Child {
  const child = spawn(process.execPath, [...programOf(file), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  });
  // Whoever is killed does not read what is still being said to it.
  child.stdin.on('error', () => undefined);
  const parts: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => parts.push(text));
  }
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exit = once(child, 'close').then(
    ([code, signal]): Exit => ({ code, signal, output: parts.join('') }),
  );
  return {
    process: child,
    async line() {
      const next = await lines.next();
      if (next.done) throw new Error(`the process ended without a line: ${parts.join('')}`);
      return next.value;
    },
    exit,
  };
}

/** Starts a file with its arguments. When the test has finished it is gone. */
export function startChild(
  file: string,
  args: readonly string[],
  surroundings: Surroundings = {},
): Child {
  const child = spawnChild(file, args, surroundings);
  onTestFinished(async () => {
    child.process.kill('SIGKILL');
    await child.exit;
  });
  return child;
}
