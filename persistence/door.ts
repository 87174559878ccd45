// The door: the only way by which a service moves runs. An event goes in, an outcome comes out.
//
// - What a caller has to expect is a value: applied, missing, lost, refused, invalid. Exceptions
//   are for mistakes in the caller's code and for the infrastructure.
// - Locks are taken in id order within a call and held to the end of the transaction. Who sends to
//   several runs in one transaction sends them in one call, or in id order.
// - A bad value or a broken constraint is one row's answer: the batch is split in halves, under
//   savepoints, until that row stands alone; the others land.

import type { EventOf, EventsBy, FieldValues, Machine } from '../machines/status-machine.ts';
import type { Parameter, Statement } from './compile.ts';
import { recordLost } from './lost-writes.ts';
import { type Answer, type Outcome, readOutcome } from './outcome.ts';
import { blamesRow, sqlstate, sqlstateOf } from './sqlstate.ts';
import { run, type Sending, statementOf } from './statements.ts';
import { tally } from './tally.ts';
import { storable } from './text.ts';
import type { Tx } from './transaction.ts';
import { bound, isUuid, valueFault } from './values.ts';
import { wakeIfDue } from './wake.ts';

/** What an event needs beside its fields: an owner proves it, an operator and a claim are named. */
type Credentials<M extends Machine, N extends EventOf<M>> =
  N extends EventsBy<M, 'owner'> ? { readonly fence: number } : { readonly actor: string };

export type EventRow<M extends Machine, N extends EventOf<M>> = {
  readonly id: string;
} & Credentials<M, N> &
  FieldValues<M, N>;

interface LooseRow {
  readonly id: string;
  readonly fence?: number;
  readonly actor?: string;
  readonly [field: string]: unknown;
}

interface Position {
  readonly place: number;
  readonly row: LooseRow;
}

/** A call that can never be right, whatever is in the database. A mistake in the caller's code. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: 'duplicate_ids' | 'unknown_event' | 'not_installed' | 'bad_limit' | 'bad_where';

  constructor(code: CallError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

function faultOf(machine: Machine, event: string, row: LooseRow): Outcome<Machine> | undefined {
  const { by, fields = {} } = machine.events[event] ?? { by: 'operator' as const };
  const invalid = (where: string, value: unknown, declared: 'int' | 'text' | 'uuid') => {
    const code = valueFault(value, declared);
    return code && ({ outcome: 'invalid', id: row.id, code, where, detail: code } as const);
  };
  if (!isUuid(row.id)) return invalid('id', row.id, 'uuid');
  const credential =
    by === 'owner' ? invalid('fence', row.fence, 'int') : invalid('actor', row.actor, 'text');
  if (credential) return credential;
  for (const [name, declared] of Object.entries(fields)) {
    const code = valueFault(row[name], declared);
    if (code) return { outcome: 'invalid', id: row.id, code, where: name, detail: code };
  }
  return undefined;
}

/** The values of a by-ids statement: an array a parameter. */
function arrays(machine: Machine, event: string, rows: readonly Position[]) {
  const fields = machine.events[event]?.fields ?? {};
  return (parameter: Parameter): unknown => {
    switch (parameter.from) {
      case 'ids':
        return rows.map(({ row }) => row.id);
      case 'fences':
        return rows.map(({ row }) => row.fence);
      case 'actors':
        return rows.map(({ row }) => row.actor);
      case 'field': {
        const { name } = parameter;
        return rows.map(({ row }) => bound(row[name], fields[name] ?? 'text'));
      }
      default:
        throw new Error(`a by-ids statement has no parameter from ${parameter.from}`);
    }
  };
}

function refusedByDatabase(id: string, error: unknown): Outcome<Machine> {
  const { constraint, column } = error as { constraint?: string; column?: string };
  return {
    outcome: 'invalid',
    id,
    code: sqlstateOf(error)?.startsWith('23') ? 'constraint' : 'bad_value',
    where: constraint ?? column ?? '',
    detail: storable(error instanceof Error ? error.message : '', 2000),
  };
}

/** Sends the rows in one statement; in halves, while the database blames a row for its failure. */
export async function sendSplitting(
  tx: Tx,
  machine: Machine,
  event: string,
  rows: readonly Position[],
  onPoison: (position: Position, error: unknown) => void,
  sending: Sending = {},
): Promise<readonly { readonly position: Position; readonly answer: Answer }[]> {
  const statement = statementOf(machine, event, { selector: 'ids' });
  try {
    const answers = await run(tx, statement, arrays(machine, event, rows), sending);
    return answers.flatMap((answer, i) => {
      const position = rows[i];
      return position ? [{ position, answer }] : [];
    });
  } catch (error) {
    throwIfNotInstalled(machine, error);
    if (sending.bare || sending.last || !blamesRow(error)) throw error;
    const [only] = rows;
    if (rows.length === 1 && only) {
      onPoison(only, error);
      return [];
    }
    // Halves lock one after the other, so they are cut from the ids in lock order.
    const sorted = rows.toSorted((a, b) => (a.row.id < b.row.id ? -1 : 1));
    const middle = Math.ceil(sorted.length / 2);
    const first = await sendSplitting(tx, machine, event, sorted.slice(0, middle), onPoison);
    const second = await sendSplitting(tx, machine, event, sorted.slice(middle), onPoison);
    return [...first, ...second];
  }
}

/** @throws CallError where the statement found no installed definition to name. */
export function throwIfNotInstalled(machine: Machine, error: unknown): void {
  const { column } = error as { column?: string };
  if (sqlstateOf(error) !== sqlstate.notNullViolation || column !== 'definition') return;
  throw new CallError('not_installed', `machine ${machine.id}: call installMachines first`);
}

/** Ids as Postgres orders and prints them: halves are locked, and guards judged, by that. */
function inLowerCase(machine: Machine, event: string, rows: readonly LooseRow[]): LooseRow[] {
  const declared = Object.entries(machine.events[event]?.fields ?? {});
  const names = declared.filter(([, kind]) => kind.startsWith('uuid')).map(([name]) => name);
  return rows.map((row) => {
    const lower: Record<string, unknown> & { id: string } = {
      ...row,
      id: String(row.id).toLowerCase(),
    };
    for (const name of names) if (isUuid(row[name])) lower[name] = String(row[name]).toLowerCase();
    return lower;
  });
}

function checkCall(machine: Machine, event: string, rows: readonly LooseRow[]): void {
  if (!Object.hasOwn(machine.events, event)) {
    throw new CallError('unknown_event', `machine ${machine.id} has no event "${event}"`);
  }
  const ids = new Set(rows.map((row) => row.id));
  if (ids.size !== rows.length) {
    throw new CallError('duplicate_ids', 'one call sends at most one event to a run');
  }
}

function tallyAll(
  tx: Tx,
  machine: Machine,
  event: string,
  outcomes: readonly Outcome<Machine>[],
): void {
  const counts = new Map<Outcome<Machine>['outcome'], number>();
  for (const { outcome } of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  for (const [outcome, count] of counts) tally(tx, { machine: machine.id, event, outcome, count });
}

/**
 * Sends one event to many runs, in one statement while nothing is wrong with any of them. Waits for
 * runs that others hold, in id order.
 * @returns an outcome a row, in the rows' order. Lost ones are recorded, in this transaction: who
 * throws because of one takes its record back too.
 * @throws CallError for a row twice or an unknown event; errors of the connection and of time
 * limits.
 */
export async function sendMany<M extends Machine, N extends EventOf<M>>(
  tx: Tx,
  machine: M,
  event: N,
  rows: readonly EventRow<M, N>[],
  sending: Sending = {},
): Promise<readonly Outcome<M>[]> {
  const loose = inLowerCase(machine, event, rows as readonly unknown[] as readonly LooseRow[]);
  checkCall(machine, event, loose);
  const outcomes: Outcome<M>[] = [];
  const good: Position[] = [];
  for (const [place, row] of loose.entries()) {
    const fault = faultOf(machine, event, row);
    if (fault) outcomes[place] = fault as Outcome<M>;
    else good.push({ place, row });
  }
  if (good.length === 0) {
    tallyAll(tx, machine, event, outcomes);
    return outcomes;
  }
  const statement: Statement = statementOf(machine, event, { selector: 'ids' });
  const blame = ({ place, row }: Position, error: unknown) => {
    outcomes[place] = refusedByDatabase(row.id, error) as Outcome<M>;
  };
  const answered = await sendSplitting(tx, machine, event, good, blame, sending);
  const lost = [];
  for (const { position, answer } of answered) {
    const { row, place } = position;
    const outcome = readOutcome(machine, event, statement, row, answer);
    outcomes[place] = outcome;
    if (outcome.outcome === 'lost') lost.push({ ...outcome, sentFence: row.fence ?? 0 });
  }
  await recordLost(tx, machine, event, lost);
  wakeIfDue(tx, machine, event, outcomes);
  tallyAll(tx, machine, event, outcomes);
  return outcomes;
}

/**
 * Sends one event to one run. An owner's event needs the fence that its claim gave.
 * @returns its outcome; see `sendMany`.
 */
export async function send<M extends Machine, N extends EventOf<M>>(
  tx: Tx,
  machine: M,
  event: N,
  row: EventRow<M, N>,
  sending: Sending = {},
): Promise<Outcome<M>> {
  const [outcome] = await sendMany(tx, machine, event, [row], sending);
  if (!outcome) throw new Error('one event was sent and no outcome came back');
  return outcome;
}
