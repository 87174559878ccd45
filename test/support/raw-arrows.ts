// Every pair of statuses by raw SQL, and every (from, event, to) of a write that names its event:
// what is declared is done and journalled, the rest is refused with its reason.

import { sql } from 'kysely';
import type { Machine } from '../../machines/status-machine.ts';
import type { Tx } from '../../persistence/transaction.ts';
import type { Values } from './machines.ts';
import {
  attempt,
  counted,
  entering,
  mustRefuse,
  run,
  stageStatuses,
  updateText,
} from './raw-attempt.ts';
import type { StagedRow, Subject } from './staging.ts';

export interface RawReport {
  readonly findings: readonly string[];
  readonly attempts: number;
  readonly refused: number;
}

const edgesOf = (machine: Machine, from: string, event: string) =>
  [machine.states[from]?.on?.[event] ?? []].flat();

/** An event that only ever prolongs a lease is no news, and is not journalled. */
export function isSilent(machine: Machine, event: string): boolean {
  return Object.keys(machine.states).every((from) =>
    edgesOf(machine, from, event).every(
      ({ target, actions }) =>
        target === from && Object.keys(actions?.params ?? {}).join() === machine.lease,
    ),
  );
}

async function afterwards(tx: Tx, machine: Machine, id: string) {
  const run = await sql<Values>`select r.*, session_user::text as asker
    from ${sql.table(`fencepost.${machine.table}`)} r where id = ${id}`.execute(tx);
  const journal = await sql<Values>`select seq, event, actor, from_status, to_status, fence
    from fencepost.journal where machine = ${machine.id} and run = ${id}`.execute(tx);
  return { run: run.rows[0] ?? {}, journal: journal.rows };
}

/**
 * A raw write that must be done: moved, counted, journalled, and without an owner it cannot have.
 */
async function mustMove(subject: Subject, row: StagedRow, to: string, event: string | null) {
  const { machine } = subject.entry;
  const columns = {
    status: `'${to}'`,
    ...(to === row.status ? {} : entering(machine, to)),
    ...(event === null ? {} : counted(event)),
  };
  const text = updateText(machine, row.id, columns);
  const answer = await attempt(subject, async (tx) => {
    await run(tx, text);
    return afterwards(tx, machine, row.id);
  });
  if ('refusal' in answer) return [`refused: ${text}: ${answer.refusal.message}`];
  const { run: became, journal } = answer.result;
  const actor = event === null ? `outside: ${became['asker']}` : 'somebody';
  const fence = became[machine.fence];
  const wanted = { seq: 8, event, actor, from_status: row.status, to_status: to, fence };
  const lines = event !== null && isSilent(machine, event) ? [] : [wanted];
  const isLeased = machine.states[to]?.tags?.includes('leased') ?? false;
  const isOwned = became[machine.owner] !== null && became[machine.lease] !== null;
  return [
    ...(became['status'] === to && became['seq'] === 8 ? [] : [`not moved: ${text}`]),
    ...(isOwned === isLeased ? [] : [`owned in "${to}": ${text}`]),
    ...(JSON.stringify(journal) === JSON.stringify(lines)
      ? []
      : [`journal ${JSON.stringify(journal)}, not ${JSON.stringify(lines)}: ${text}`]),
  ];
}

function refusalOf(machine: Machine, row: StagedRow, to: string, event: string | null) {
  const text = updateText(machine, row.id, {
    status: `'${to}'`,
    ...entering(machine, to),
    ...(event === null ? {} : counted(event)),
  });
  const isFinal = machine.states[row.status]?.type === 'final';
  const names = [row.id, `"${row.status}"`];
  return {
    text,
    rule: `${machine.id}_${isFinal ? 'terminal' : 'arrow'}`,
    names: isFinal ? names : [...names, `"${to}"`, ...(event === null ? [] : [`"${event}"`])],
  };
}

/** Whether anybody may write the pair: a run that is not at its end may also stay where it is. */
function isDeclared(machine: Machine, from: string, event: string | null, to: string): boolean {
  const isFinal = machine.states[from]?.type === 'final';
  if (event === null && from === to) return !isFinal;
  const events = event === null ? Object.keys(machine.events) : [event];
  return events.some((each) => edgesOf(machine, from, each).some(({ target }) => target === to));
}

async function each(subject: Subject, events: readonly (string | null)[]): Promise<RawReport> {
  const { machine } = subject.entry;
  const findings: string[] = [];
  let [attempts, refused] = [0, 0];
  const rows = await stageStatuses(subject);
  for (const row of rows) {
    for (const event of events) {
      for (const to of [...Object.keys(machine.states), 'nowhere']) {
        attempts += 1;
        if (isDeclared(machine, row.status, event, to)) {
          findings.push(...(await mustMove(subject, row, to, event)));
          continue;
        }
        refused += 1;
        const { text, rule, names } = refusalOf(machine, row, to, event);
        findings.push(...(await mustRefuse(subject, text, rule, names)));
      }
    }
  }
  return { findings, attempts, refused };
}

/** Writes that name no event: every status to every status. */
export const rawPairs = (subject: Subject): Promise<RawReport> => each(subject, [null]);

/** Writes that name an event, an unknown one among them: every status, event and status. */
export const namedEvents = (subject: Subject): Promise<RawReport> =>
  each(subject, [...Object.keys(subject.entry.machine.events), 'no.such.event']);
