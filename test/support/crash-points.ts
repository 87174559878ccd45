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

/** Carries out one plan, with the fate at one point. Returns whether the point was there. */
async function atPoint(database: Database, { tools, steps, fate }: Walk, point: number) {
  const id = await approved(database, tools, steps());
  const client = dyingClient(point, fate);
  const { clientClass } = client;
  const mortal = await openDatabase({ url: database.url, clientClass, connections: 2 });
  const executor = watched(mortal, tools);
  const began = client.count();
  const done = (async () => {
    // A claim that failed was not answered; whoever asked asks again.
    const asked = await executor.execute(id, 'grace').catch(() => undefined);
    if (asked?.outcome !== 'started') return;
    await executor.ended(id);
  })();
  const struck = client.struck.then(() => 'struck');
  const first = await Promise.race([struck, done.then(() => 'done')]);
  // Only who lives goes on to an end.
  if (first === 'struck' && fate === 'unanswered') await done;
  const isOver = first === 'done' && client.count() < point;
  if (first === 'done' || fate === 'unanswered') await mortal.close();
  return { id, isOver, began };
}

/** Walks through every point of a plan. The first points open the database, and are passed over. */
export async function walk(database: Database, walked: Walk): Promise<WalkReport> {
  const findings: string[] = [];
  const statuses: Record<string, number> = {};
  let points = 0;
  // One statement asks the server what it is.
  for (let point = 2; ; point += 1) {
    const { id, isOver } = await atPoint(database, walked, point);
    await recovered(database, id);
    const found = await planFindings(database, id);
    findings.push(...found.map((each) => `${walked.fate} ${point}: ${each}`));
    const { row } = await read(database, id);
    statuses[row.status] = (statuses[row.status] ?? 0) + 1;
    if (isOver) {
      const isWhole = row.status === 'executed' || row.status === 'failed';
      if (!isWhole) findings.push(`undisturbed it is ${row.status}: ${row.reason}`);
      return { points, findings, statuses };
    }
    points += 1;
    if (walked.untilFound && findings.length > 0) return { points, findings, statuses };
  }
}

export const noteOf = (text: string): NewStep => ({
  tool: 'note.write',
  arguments: { id: randomUUID(), text },
});
