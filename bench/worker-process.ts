// A worker process of the benchmarks, seen from the one that measures it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface WorkerProcess {
  /** Resolves with the words of the next line that begins with this one. */
  next(word: string): Promise<readonly string[]>;
  /** Calls with the words of each line. */
  onLine(tell: (words: readonly string[]) => void): () => void;
  say(line: string): void;
  /** Ends what `begin` began. */
  pause(): Promise<void>;
  /** The same, and ends the process. */
  stop(): Promise<void>;
}

const script = join(import.meta.dirname, 'deliveries-worker.ts');

/** Starts one, and resolves when it is ready to begin. */
export async function startWorkerProcess(
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<WorkerProcess> {
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', script], {
    env: { PATH: process.env['PATH'], DATABASE_URL: url, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const tellers = new Set<(words: readonly string[]) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    for (const tell of tellers) tell(line.split(' '));
  });
  const self: WorkerProcess = {
    next: (word) =>
      new Promise((resolve, reject) => {
        const gone = () => reject(new Error(`a worker process ended before "${word}"`));
        const look = (words: readonly string[]) => {
          if (words[0] !== word) return;
          tellers.delete(look);
          child.off('exit', gone);
          resolve(words);
        };
        tellers.add(look);
        child.once('exit', gone);
      }),
    onLine(tell) {
      tellers.add(tell);
      return () => tellers.delete(tell);
    },
    say: (line) => child.stdin.write(`${line}\n`),
    async pause() {
      const paused = self.next('paused');
      self.say('pause');
      await paused;
    },
    async stop() {
      await self.pause();
      const ended = once(child, 'exit');
      self.say('stop');
      await ended;
    },
  };
  await self.next('ready');
  return self;
}
