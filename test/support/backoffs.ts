// A backoff is finite and within its bounds for every counter, in memory and in SQL alike. An
// overflowing power once turned every failure of a run into another failure.

import fc from 'fast-check';
import { sql } from 'kysely';
import { arrowsOf } from '../../machines/arrows.ts';
import { evaluate } from '../../machines/evaluate.ts';
import { walk } from '../../machines/kind-of.ts';
import { backoff, col } from '../../machines/vocabulary.ts';
import { print } from '../../persistence/print.ts';
import type { Subject } from './staging.ts';

export interface BackoffReport {
  readonly findings: readonly string[];
  readonly checks: number;
}

const known = [60, 310, 1000, 32_767, -2_147_483_648, -1, 0, 1, 2_147_483_646, 2_147_483_647];
const oneDice = (count: number) => count / 2 ** 31;
const narrow = { baseMs: 1000, capMs: 1000 };
const wide = { baseMs: 1, capMs: 2_147_483_647 };

/** Checks the machine's backoffs, and two at the ends of what a declaration may ask for. */
export async function backoffs({ entry, observer }: Subject, seed: number): Promise<BackoffReport> {
  const declared = arrowsOf(entry.machine)
    .flatMap(({ set }) => Object.values(set).flatMap(walk))
    .flatMap((node) => ('backoff' in node ? [node.backoff] : []));
  const first = Array.from({ length: 40 }, (_, count) => count);
  const random = fc.sample(fc.integer(), { seed, numRuns: 500 });
  // The database's dice are multiples of 2^-52, and so never so small that a product underflows.
  const dice = [0, 0.5, 1 - 2 ** -52, ...fc.sample(fc.nat(), { seed, numRuns: 3 }).map(oneDice)];
  const throws = [...known, ...first, ...random].flatMap((n) => dice.map((d) => ({ n, d })));
  const findings: string[] = [];
  for (const { baseMs, capMs } of [narrow, wide, ...declared]) {
    const node = backoff(col('n'), baseMs, capMs);
    const text = print(node, {
      names: { columns: { n: 'int' }, fields: {} },
      col: () => 't.n',
      field: () => 'null',
      clock: 'null',
      actor: 'null',
      dice: 't.d',
    });
    const { rows } = await sql<{ ms: number }>`select ${sql.raw(text)} as ms
      from unnest(${throws.map(({ n }) => n)}::int4[], ${throws.map(({ d }) => d)}::float8[])
        with ordinality as t(n, d, place) order by place`.execute(observer.db);
    for (const [i, { n, d }] of throws.entries()) {
      const inMemory = evaluate(node, { row: { n }, fields: {}, at: 0, dice: d });
      const inSql = rows[i]?.ms;
      const bounded = typeof inSql === 'number' && inSql >= 0 && inSql <= capMs;
      if (bounded && inSql === inMemory) continue;
      findings.push(`backoff(${n}, ${baseMs}, ${capMs}) by ${d}: ${inSql} and ${inMemory}`);
    }
  }
  return { findings, checks: throws.length * (declared.length + 2) };
}
