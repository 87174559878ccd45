// Taking runs that are due: claims by workers, sweeps by the reaper, and the sweep of one run that
// is about to be read.
//
// - None of them ever waits for a lock: a run that somebody holds is skipped.
// - A poison row ends nothing. The picked rows are then moved by id, in halves, and the one that
//   the database blames goes to the quarantine.

import { sweepsOf } from '../machines/arrows.ts';
import type { EventsBy, FieldValues, Machine, Run, Sender } from '../machines/status-machine.ts';
import { compileCandidates, type Parameter, type Statement } from './compile.ts';
import { CallError, sendSplitting, throwIfNotInstalled } from './door.ts';
import { type Answer, type Applied, applied, movedIn } from './outcome.ts';
import { quarantine } from './quarantine.ts';
import { blamesRow } from './sqlstate.ts';
import { run, statementOf } from './statements.ts';
import { tally } from './tally.ts';
import { isSingle, type Tx } from './transaction.ts';
import { bound, valueFault } from './values.ts';
import { wakeIfDue } from './wake.ts';

type Where<M extends Machine> = { readonly id?: string } & Partial<
  Pick<Run<M>, M['frozen'][number]>
>;

interface Selected {
  readonly event: string;
  readonly limit: number;
  readonly actor: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly where: Readonly<Record<string, unknown>>;
}

const most = 10_000;

function checkSelected(
  machine: Machine,
  by: Sender,
  { event, limit, fields, where }: Selected,
): void {
  const declared = Object.hasOwn(machine.events, event) ? machine.events[event] : undefined;
  if (declared?.by !== by) {
    throw new CallError('unknown_event', `machine ${machine.id} has no ${by} "${event}"`);
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new CallError('bad_limit', `limit is from 1 to ${most}, not ${limit}`);
  }
  for (const [name, kind] of Object.entries(declared.fields ?? {})) {
    const fault = valueFault(fields[name], kind);
    if (fault) throw new CallError('bad_where', `field ${name}: ${fault}`);
  }
  for (const [name, value] of Object.entries(where)) {
    const isColumn = Object.hasOwn(machine.columns, name);
    const kind = name === 'id' ? 'uuid' : isColumn ? machine.columns[name] : undefined;
    // Null equals nothing: a claim that compares with it would never find a run.
    const isMissing = value === null || value === undefined;
    const fault = isMissing ? 'missing' : kind ? valueFault(value, kind) : 'no such column';
    if (fault) throw new CallError('bad_where', `where ${name}: ${fault}`);
  }
}

function scalars(machine: Machine, selected: Selected) {
  const { fields = {} } = machine.events[selected.event] ?? {};
  return (parameter: Parameter): unknown => {
    switch (parameter.from) {
      case 'limit':
        return selected.limit;
      case 'actor':
        return selected.actor;
      case 'id':
        return selected.where['id'];
      case 'field':
        return bound(selected.fields[parameter.name], fields[parameter.name] ?? 'text');
      case 'where': {
        const { name } = parameter;
        return bound(selected.where[name], machine.columns[name] ?? 'text');
      }
      default:
        throw new Error(`a selecting statement has no parameter from ${parameter.from}`);
    }
  };
}

/**
 * The database refuses the arrow itself: what is installed has been narrowed under this process,
 * and no run is at fault.
 */
const isOutdated = (machine: Machine, error: unknown): boolean =>
  (error as { readonly constraint?: string }).constraint === `${machine.id}_arrow`;

/** The slow way, after a poison row ended the quick one: pick and lock first, then move by id. */
async function moveOneByOne(
  tx: Tx,
  machine: Machine,
  selected: Selected,
): Promise<{ readonly answers: readonly Answer[]; readonly poisoned: number }> {
  const { event } = selected;
  const picking = compileCandidates(machine, event, Object.keys(selected.where));
  const picked = await run(tx, picking, scalars(machine, selected));
  const rows = picked.map(([id], place) => ({
    place,
    row: { ...selected.fields, id: String(id), actor: selected.actor },
  }));
  if (rows.length === 0) return { answers: [], poisoned: 0 };
  const poison: (readonly [string, unknown])[] = [];
  const moved = await sendSplitting(tx, machine, event, rows, ({ row }, error) => {
    if (isOutdated(machine, error)) throw error;
    poison.push([row.id, error]);
  });
  for (const [id, error] of poison) await quarantine(tx, machine, event, id, error);
  const inOrder = moved.toSorted((a, b) => a.position.place - b.position.place);
  return { answers: inOrder.map(({ answer }) => answer), poisoned: poison.length };
}

/** The answers of what is due. A batch that is nothing but poison is set aside and not the end. */
async function pick(
  tx: Tx,
  machine: Machine,
  statement: Statement,
  selected: Selected,
): Promise<readonly Answer[]> {
  for (;;) {
    try {
      return await run(tx, statement, scalars(machine, selected), { generic: true });
    } catch (error) {
      throwIfNotInstalled(machine, error);
      if (!blamesRow(error) || isSingle(tx)) throw error;
    }
    const { answers, poisoned } = await moveOneByOne(tx, machine, selected);
    if (answers.length > 0 || poisoned === 0) return answers;
  }
}

async function select<M extends Machine>(
  tx: Tx,
  machine: M,
  selector: 'claim' | 'sweep' | 'heal',
  selected: Selected,
): Promise<readonly Applied<M>[]> {
  checkSelected(machine, selector === 'claim' ? 'claim' : 'sweep', selected);
  const where = selector === 'heal' ? [] : Object.keys(selected.where).toSorted();
  const statement = statementOf(machine, selected.event, { selector, where });
  const answers = await pick(tx, machine, statement, selected);
  const moved = answers.filter((answer) => movedIn(statement, answer));
  const { event } = selected;
  tally(tx, { machine: machine.id, event, outcome: 'applied', count: moved.length });
  return moved.map((answer) => applied(machine, statement, answer));
}

export type ClaimOptions<M extends Machine, N extends EventsBy<M, 'claim'>> = {
  /** Runs at most, from 1 to 10,000. */
  readonly limit: number;
  /** Only runs whose frozen columns have these values. */
  readonly where?: Where<M>;
} & FieldValues<M, N>;

/**
 * Claims due runs, those that are due longest first. Each has the fence that its owner's events
 * need and a lease that runs from this statement on; reckon a local deadline from before the call.
 * @returns the claimed runs, whole, in the order in which they were due.
 */
export async function claim<M extends Machine, N extends EventsBy<M, 'claim'>>(
  tx: Tx,
  machine: M,
  event: N,
  options: ClaimOptions<M, N>,
): Promise<readonly Run<M>[]> {
  const {
    limit,
    where = {},
    ...fields
  } = options as ClaimOptions<M, N> & {
    readonly owner?: unknown;
  };
  const actor = String(fields.owner ?? event);
  const claimed = await select(tx, machine, 'claim', { event, limit, where, fields, actor });
  return claimed.map(({ after }) => after as Run<M>);
}

/** The actor of a sweep in the journal. */
export const sweeper = 'sweep';

/**
 * Sends a time-guarded event to the runs whose time has come, at most `limit`, skipping held ones.
 * @returns what was applied. As many as `limit`: there may be more.
 */
export async function sweep<M extends Machine, N extends EventsBy<M, 'sweep'>>(
  tx: Tx,
  machine: M,
  event: N,
  options: { readonly limit: number },
): Promise<readonly Applied<M>[]> {
  const selected = { event, limit: options.limit, where: {}, fields: {}, actor: sweeper };
  const swept = await select(tx, machine, 'sweep', selected);
  wakeIfDue(tx, machine, event, swept);
  return swept;
}

/**
 * Sweeps one run, before it is read: what its lease or its expiry has come to is then in the row.
 * Never waits and never fails a live run.
 * @returns what was applied, the first where several were due; undefined if nothing was to be done,
 * or somebody holds the run.
 */
export async function heal<M extends Machine>(
  tx: Tx,
  machine: M,
  id: string,
): Promise<Applied<M> | undefined> {
  for (const event of sweepsOf(machine)) {
    const selected = { event, limit: 1, where: { id }, fields: {}, actor: sweeper };
    const [healed] = await select(tx, machine, 'heal', selected);
    if (healed) {
      wakeIfDue(tx, machine, event, [healed]);
      return healed;
    }
  }
  return undefined;
}
