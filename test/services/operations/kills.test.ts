// A worker's process that is killed, or stands still, at every point of an operation, against the
// truth of the fakes. One process has an operation at each point.

import { describe, expect, it } from 'vitest';
import { type Child, startChild } from '../../support/child.ts';
import type { FakeNeon } from '../../support/fake-neon.ts';
import { useOpened } from '../../support/opened.ts';
import {
  ask,
  ended,
  fakeWithDev,
  forceRun,
  lapse,
  operating,
  providerOf,
  readRun,
  settle,
  times,
} from '../../support/operations.ts';
import { signal } from '../../support/signal.ts';
import type { ChildOrders } from './worker.child.ts';

const database = useOpened();
const file = new URL('worker.child.ts', import.meta.url).pathname;

/** Each point, and whether the fake has the request by then. */
const points = {
  claimed: 'not yet',
  marked: 'not yet',
  intended: 'perhaps',
  written: 'once',
  answered: 'once',
  issued: 'once',
  'polled 1': 'once',
  done: 'once',
} as const;

interface Staged {
  readonly point: keyof typeof points;
  readonly fake: FakeNeon;
  readonly id: string;
}

async function linesUntil(child: Child, isOver: (lines: readonly string[]) => boolean) {
  const lines: string[] = [];
  while (!isOver(lines)) lines.push(await child.line());
  return lines;
}

/** An operation at each point, all in the hands of one process. */
async function staged(names: readonly string[] = Object.keys(points), mutant = false) {
  const prepared = await Promise.all(
    names.map(async (name) => {
      const point = name as Staged['point'];
      const fake = await fakeWithDev();
      const arrived = signal();
      if (mutant) fake.script = ['finished'];
      if (point === 'written') {
        fake.rule('restore', 'applied, then hang');
        fake.onRequest = ({ kind }) => kind === 'restore' && arrived.give();
      }
      return { point, fake, arrived };
    }),
  );
  const orders = prepared.map(({ point, fake: { url, key, project } }) => ({
    ...{ url, key, project, point, mutant },
    // Short where it is to pass while the process stands still, and wide where it must not.
    times: { ...times, sendWindowMs: point === 'intended' ? 300 : 10_000 },
  }));
  const given: ChildOrders = { database: database().url, orders };
  const child = startChild(file, [JSON.stringify(given)]);
  expect(await child.line()).toBe('ready');
  const all: Staged[] = [];
  for (const { point, fake } of prepared) {
    all.push({ point, fake, id: await ask(database(), providerOf(fake)) });
  }
  const isHeld = (line: string) => / at /.test(line);
  const awaited = names.filter((name) => name !== 'written').length;
  await linesUntil(child, (lines) => lines.filter(isHeld).length === awaited);
  await Promise.all(
    prepared.filter(({ point }) => point === 'written').map(({ arrived }) => arrived.given),
  );
  return { child, all };
}

/** What a successor makes of it once the lease is over and the call has settled. */
async function succeeded({ fake, id }: Staged) {
  await forceRun(database(), id, `${lapse}, ${settle}`);
  const workers = await operating(database(), providerOf(fake));
  const row = await ended(workers, database(), id);
  await workers.runs.stop(0);
  return row;
}

/** The outcome is the fake's truth, or `unknown` exactly where that cannot be had. */
function judge({ point, fake }: Staged, row: Awaited<ReturnType<typeof readRun>>): void {
  const isLost = points[point] === 'perhaps';
  expect(fake.issued(), point).toHaveLength(isLost ? 0 : 1);
  expect(row, point).toMatchObject({ outcome: isLost ? 'unknown' : 'ok' });
  if (!isLost) expect(row.operations, point).toMatchObject([{ status: 'finished' }]);
}

describe('a worker', () => {
  it('that is killed at every point starts nothing twice', async () => {
    const { child, all } = await staged();
    child.process.kill('SIGKILL');
    await child.exit;
    for (const each of all) judge(each, await succeeded(each));
    expect(all).toHaveLength(8);
  });

  it('that stands still at every point starts nothing twice and changes nothing late', async () => {
    const { child, all } = await staged();
    child.process.kill('SIGSTOP');
    const rows = [];
    for (const each of all) rows.push(await succeeded(each));
    child.process.kill('SIGCONT');
    // The send window passed while it stood still: who had intended does not call any more.
    const isOver = (line: string) => line === 'dropped';
    await linesUntil(child, (lines) => lines.filter(isOver).length === all.length - 1);
    for (const [i, each] of all.entries()) {
      const row = rows[i];
      if (!row) throw new Error('a row each');
      judge(each, row);
      expect(await readRun(database(), each.id), each.point).toEqual(row);
    }
  });

  it('that calls before its intent is written starts something twice', async () => {
    const { child, all } = await staged(['marked'], true);
    child.process.kill('SIGKILL');
    await child.exit;
    for (const each of all) {
      await succeeded(each);
      expect(each.fake.issued()).toHaveLength(2);
    }
    expect(all).toHaveLength(1);
  });
});
