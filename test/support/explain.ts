// How Postgres carries out a statement of the kernel: as a prepared one, with its generic plan, and
// rolled back afterwards.

import { sql } from 'kysely';
import type { Parameter } from '../../persistence/compile.ts';
import type { Database } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly Plan[];
}
const nodes = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

const undone = new Error('what was explained is rolled back');

/** A value as a literal of SQL: EXECUTE takes no parameters of its own. */
function printed(value: unknown): string {
  if (!Array.isArray(value)) return typeof value === 'string' ? `'${value}'` : String(value);
  return `'{${value.map((each) => JSON.stringify(each)).join(', ')}}'`;
}

export interface Explained {
  /** Indexes that were used, and other ways to the rows of deliveries. */
  readonly access: readonly string[];
  readonly rows: number;
  /** Pages that were looked at, in memory or not. */
  readonly pages: number;
  readonly text: string;
}

interface Explaining {
  readonly statement: { readonly text: string; readonly parameters: readonly Parameter[] };
  readonly values: (parameter: Parameter) => unknown;
  /** Settings of the planner that are turned off. */
  readonly forbidden?: readonly string[];
}

let explained = 0;

/** Carries a statement out and says how that went. */
export async function explain(
  database: Database,
  { statement, values, forbidden = [] }: Explaining,
): Promise<Explained> {
  let plan: Plan | undefined;
  const work = transaction(database, async (tx) => {
    await sql`set local plan_cache_mode = force_generic_plan`.execute(tx);
    for (const name of forbidden) await sql.raw(`set local ${name} = off`).execute(tx);
    explained += 1;
    const name = sql.raw(`explained_${explained}`);
    await sql`prepare ${name} as ${sql.raw(statement.text)}`.execute(tx);
    const given = statement.parameters.map((each) => printed(values(each))).join(', ');
    const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`
      explain (analyze, buffers, format json)
      execute ${name}${sql.raw(given === '' ? '' : `(${given})`)}`.execute(tx);
    plan = rows[0]?.['QUERY PLAN'][0].Plan;
    throw undone;
  });
  await work.catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  if (!plan) throw new Error('there is always a plan');
  const access = nodes(plan)
    .filter((node) => node['Index Name'] || node['Relation Name'] === 'delivery')
    .filter((node) => node['Node Type'] !== 'ModifyTable' && node['Node Type'] !== 'LockRows')
    .map((node) => node['Index Name'] ?? node['Node Type'])
    .filter((name) => name.startsWith('delivery') || name.includes('Scan'));
  return {
    access: [...new Set(access)].toSorted(),
    rows: plan['Actual Rows'] ?? 0,
    pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    text: JSON.stringify(plan, undefined, 1),
  };
}
