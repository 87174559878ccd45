// Raw SQL against a machine's table, as anybody with a psql could send it: one statement in a
// transaction that is always rolled back, and what the database said.

import { sql } from 'kysely';
import { isLeased } from '../../machines/arrows.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { identifier, literal, qualified } from '../../persistence/print.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { type MachineEntry, moments, type Values } from './machines.ts';
import { bornRow } from './reachable.ts';
import { clockOf, type StagedRow, type Subject, stage, staged } from './staging.ts';

/** What a column is set to, as SQL. */
export type Assignments = Readonly<Record<string, string>>;

export interface Refusal {
  readonly code?: string;
  readonly constraint?: string;
  readonly message: string;
}

class RolledBack extends Error {}

/** Runs the work and takes it back. Returns what it returned, or the error of the database. */
export async function attempt<T>(
  { observer }: Subject,
  work: (tx: Tx) => Promise<T>,
): Promise<{ readonly result: T } | { readonly refusal: Refusal }> {
  let result: T | undefined;
  try {
    await observer.db.transaction().execute(async (tx) => {
      result = await work(tx);
      throw new RolledBack();
    });
  } catch (error) {
    if (error instanceof RolledBack) return { result: result as T };
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return { refusal: error as Refusal };
  }
  throw new Error('a transaction that throws was committed');
}

export const run = async (tx: Tx, text: string): Promise<void> => {
  await sql.raw(text).execute(tx);
};

export function updateText(machine: Machine, id: string, columns: Assignments): string {
  const list = Object.entries(columns).map(([name, value]) => `${identifier(name)} = ${value}`);
  return `update ${qualified(machine.table)} set ${list.join(', ')} where id = ${literal(id)}`;
}

/** A raw write that must be refused by the rule; `named` are parts that its message must have. */
export async function mustRefuse(
  subject: Subject,
  text: string,
  rule: string,
  named: readonly string[],
): Promise<readonly string[]> {
  const answer = await attempt(subject, (tx) => run(tx, text));
  if (!('refusal' in answer)) return [`not refused: ${text}`];
  const { code, constraint, message } = answer.refusal;
  const missing = named.filter((part) => !message.includes(part));
  if (code === '23514' && constraint === rule && missing.length === 0) return [];
  return [`${code} ${constraint}, not ${rule}: "${message}" lacks ${missing}: ${text}`];
}

const hour = 3_600_000_000;

/** A run in a status, with what the database demands of that status. */
function rowIn(entry: MachineEntry, status: string, clock: number): StagedRow {
  const { machine, births } = entry;
  const owned: Values = isLeased(machine, status)
    ? { [machine.lease]: moments.early + hour, [machine.owner]: 'owner' }
    : {};
  const row = { ...bornRow(entry, births[0] ?? {}), ...owned, [machine.fence]: 1 };
  return { ...staged(entry, { status, row, at: moments.early }, clock), seq: 7 };
}

/** Stages one run a status. */
export async function stageStatuses(subject: Subject): Promise<readonly StagedRow[]> {
  const { entry } = subject;
  const clock = await clockOf(subject.observer);
  const rows = Object.keys(entry.machine.states).map((status) => rowIn(entry, status, clock));
  await stage(subject, rows);
  return rows;
}

/** What else must be set to enter a status: a claim where it is leased. */
export function entering(machine: Machine, status: string): Assignments {
  if (!isLeased(machine, status)) return {};
  return {
    [machine.fence]: `${identifier(machine.fence)} + 1`,
    [machine.lease]: "now() + interval '1 hour'",
    [machine.owner]: "'another'",
  };
}

/** What the service writes beside the columns, so that the database takes the write for its own. */
export const counted = (event: string): Assignments => ({
  seq: 'seq + 1',
  event: literal(event),
  actor: "'somebody'",
});
