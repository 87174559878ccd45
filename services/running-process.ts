// Who runs on this data folder: a small file beside the embedded database, so that a second start
// can say where the first one is. The database's own lock decides; this only helps to find the
// way.

import { readFile, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';

const runningProcess = z.object({ pid: z.int().positive(), url: z.string() });

export type RunningProcess = z.output<typeof runningProcess>;

export async function writeRunning(file: string, running: RunningProcess): Promise<void> {
  await writeFile(file, `${JSON.stringify(running)}\n`);
}

/** Returns undefined where there is no such file, or none that can be read. */
export async function readRunning(file: string): Promise<RunningProcess | undefined> {
  try {
    return runningProcess.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return undefined;
  }
}

export async function removeRunning(file: string): Promise<void> {
  await rm(file, { force: true });
}
