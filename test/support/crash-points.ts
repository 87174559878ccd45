// Walks through every statement of a plan that is carried out: at each the process dies, or its
// connection breaks; then the plan is recovered, and must be whole.

import { randomUUID } from 'node:crypto';
import { type Database, openDatabase } from '../../persistence/database.ts';
import type { NewStep, ToolRegistry } from '../../services/proposals/tools.ts';
import { dyingClient, type Fate } from './dying-client.ts';
import { approved, planFindings, read, recovered, watched } from './plans.ts';

export interface Walk {
  readonly tools: ToolRegistry;
  readonly steps: () => readonly NewStep[];
  readonly fate: Fate;
  /** Stops at the first finding. */
  readonly untilFound?: boolean;
}

export interface WalkReport {
  readonly points: number;
  readonly findings: readonly string[];
  /** How often each status came of it. */
  readonly statuses: Readonly<Record<string, number>>;
}

const atOnce = 8;

export interface Point {
  readonly point: number;
  readonly id: string;
  readonly status: string;
  readonly findings: readonly string[];
  /** The work was over before its fate could come. */
  readonly isBeyond: boolean;
}

/** Carries out one plan, whose fate comes at the point, and looks at what is left of it. */
export async function atPoint(
  database: Database,
  { tools, steps, fate }: Omit<Walk, 'untilFound'>,
  point: number,
): Promise<Point> {
  const id = await approved(database, tools, steps());
  const client = dyingClient(point, fate);
  const { clientClass } = client;
  const mortal = await openDatabase({ url: database.url, clientClass, connections: 2 });
  const executor = watched(mortal, tools);
  const done = (async () => {
    // A claim that was not answered is nobody's, or lapses.
    const asked = await executor.execute(id, 'grace').catch(() => undefined);
    if (asked?.outcome === 'started') await executor.ended(id);
  })();
  const struck = client.struck.then(() => true);
  const isBeyond = !(await Promise.race([struck, done.then(() => false)]));
  // Who lives goes on to an end, and can be closed.
  if (isBeyond || fate === 'unanswered') await done.then(() => mortal.close());
  await recovered(database, id);
  const findings = await planFindings(database, id);
  const { row } = await read(database, id);
  if (isBeyond && !['executed', 'failed'].includes(row.status)) {
    findings.push(`undisturbed it is ${row.status}: ${row.reason}`);
  }
  const named = findings.map((each) => `${fate} ${point}: ${each}`);
  return { point, id, status: row.status, findings: named, isBeyond };
}

/** Walks through every point of a plan. The first, which asks the server what it is, is none. */
export async function walk(database: Database, walked: Walk): Promise<WalkReport> {
  const all: Point[] = [];
  for (let first = 2; ; first += atOnce) {
    const points = Array.from({ length: atOnce }, (_, i) => first + i);
    all.push(...(await Promise.all(points.map((point) => atPoint(database, walked, point)))));
    const found = all.flatMap(({ findings }) => findings);
    const isOver = all.some(({ isBeyond }) => isBeyond);
    if (!isOver && !(walked.untilFound && found.length > 0)) continue;
    const statuses: Record<string, number> = {};
    const before = all.filter(({ isBeyond }) => !isBeyond);
    for (const { status } of before) statuses[status] = (statuses[status] ?? 0) + 1;
    return { points: before.length, findings: found, statuses };
  }
}

export const noteOf = (text: string): NewStep => ({
  tool: 'note.write',
  arguments: { id: randomUUID(), text },
});
