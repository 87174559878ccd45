// What the database holds beside the arrows, by raw SQL: births, fences, leases, frozen columns,
// the end of a run, deletion, the journal, and the machine's own checks.

import { sql } from 'kysely';
import { evaluate } from '../../machines/evaluate.ts';
import { walk } from '../../machines/kind-of.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { identifier, literal, qualified } from '../../persistence/print.ts';
import type { Values } from './machines.ts';
import type { RawReport } from './raw-arrows.ts';
import {
  type Assignments,
  attempt,
  entering,
  mustRefuse,
  run,
  stageStatuses,
  updateText,
} from './raw-attempt.ts';
import type { StagedRow, Subject } from './staging.ts';

/** A statement, the rule that must refuse it, and what the message must name. */
interface Wrong {
  readonly text: string;
  readonly rule: string;
  readonly names: readonly string[];
}

const stateOf = (machine: Machine, row: StagedRow) => machine.states[row.status];
const isFinal = (machine: Machine, row: StagedRow) => stateOf(machine, row)?.type === 'final';
const isLeased = (machine: Machine, row: StagedRow) =>
  stateOf(machine, row)?.tags?.includes('leased') ?? false;

function wrongUpdates(machine: Machine, row: StagedRow): readonly Wrong[] {
  const [fence, owner] = [identifier(machine.fence), machine.owner];
  const wrong = (rule: string, columns: Assignments): Wrong => ({
    text: updateText(machine, row.id, columns),
    rule: `${machine.id}_${rule}`,
    names: [row.id],
  });
  const frozen = ['id', ...machine.frozen].map((name) =>
    wrong('frozen', { [name]: identifier(name) }),
  );
  const others = Object.keys(machine.columns).filter((name) => !machine.frozen.includes(name));
  if (isFinal(machine, row)) {
    const same = others.map((name) => wrong('terminal', { [name]: identifier(name) }));
    return [...frozen, ...same, wrong('terminal', { actor: "'me'" })];
  }
  const lower = [wrong('fence', { [machine.fence]: `${fence} - 1` })];
  const none = [wrong('fence', { [machine.fence]: 'null' })];
  const targets = Object.values(stateOf(machine, row)?.on ?? {})
    .flatMap((edges) => [edges ?? []].flat())
    .map(({ target }) => target)
    .filter((target) => target !== row.status && machine.states[target]?.tags?.includes('leased'));
  const entered = [...new Set(targets)].flatMap((status) => {
    const whole = { status: literal(status), ...entering(machine, status) };
    return [
      wrong('claim', { ...whole, [machine.fence]: fence }),
      wrong('lease', { ...whole, [machine.lease]: 'null' }),
      wrong('lease', { ...whole, [owner]: 'null' }),
    ];
  });
  if (!isLeased(machine, row)) return [...frozen, ...lower, ...none, ...entered];
  const raised = { [machine.fence]: `${fence} + 1` };
  const stolen = [
    wrong('claim', { [owner]: "'thief'" }),
    wrong('claim', { [owner]: 'null' }),
    wrong('lease', { [machine.lease]: 'null' }),
    wrong('lease', { ...raised, [owner]: 'null' }),
  ];
  return [...frozen, ...lower, ...none, ...stolen];
}

function wrongDeletes(machine: Machine, rows: readonly StagedRow[]): readonly Wrong[] {
  const table = qualified(machine.table);
  const live = rows.filter((row) => !isFinal(machine, row));
  return [
    ...live.map((row) => ({
      text: `delete from ${table} where id = ${literal(row.id)}`,
      rule: `${machine.id}_live`,
      names: [row.id, `"${row.status}"`],
    })),
    { text: `truncate ${table}`, rule: `${machine.id}_truncate`, names: [machine.table] },
    { text: `truncate ${table} cascade`, rule: `${machine.id}_truncate`, names: [machine.table] },
  ];
}

const insertText = (machine: Machine, row: Values) =>
  `insert into ${qualified(machine.table)} select n.* from jsonb_populate_record(
     null::${qualified(machine.table)}, ${literal(JSON.stringify(row))}::jsonb) n`;

/** A birth as it must be, and each single thing that makes it wrong. */
async function births(subject: Subject, staged: StagedRow): Promise<RawReport> {
  const { machine } = subject.entry;
  const born = { status: machine.initial, seq: 0, event: null, actor: null, definition: 1 };
  const free = { [machine.fence]: 0, [machine.lease]: null, [machine.owner]: null };
  const { rows } = await sql<{ id: string; row: Values }>`select gen_random_uuid() as id,
    to_jsonb(r) as row from ${sql.table(`fencepost.${machine.table}`)} r
    where id = ${staged.id}`.execute(subject.observer.db);
  const [{ id, row } = { id: '', row: {} }] = rows;
  const unique = (subject.entry.unique ?? []).map((name) => [name, id]);
  const good = { ...row, ...Object.fromEntries(unique), ...born, ...free, id };
  const wrong: readonly Values[] = [
    ...Object.keys(machine.states)
      .filter((status) => status !== machine.initial)
      .map((status) => ({ status })),
    { status: 'nowhere' },
    { [machine.fence]: 1 },
    { [machine.fence]: -1 },
    { seq: 1 },
    { [machine.lease]: '2030-01-01T00:00:00Z' },
    { [machine.owner]: 'me' },
    { event: Object.keys(machine.events)[0] },
  ];
  const findings: string[] = [];
  for (const change of wrong) {
    const text = insertText(machine, { ...good, ...change });
    findings.push(...(await mustRefuse(subject, text, `${machine.id}_birth`, [id])));
  }
  const checks = Object.keys(machine.checks ?? {});
  for (const name of checks) {
    const text = insertText(machine, { ...good, ...violation(machine, name, good) });
    findings.push(...(await mustRefuse(subject, text, `${machine.id}_${name}`, [id, name])));
  }
  const answer = await attempt(subject, (tx) => run(tx, insertText(machine, good)));
  if ('refusal' in answer) findings.push(`a birth is refused: ${answer.refusal.message}`);
  const refused = wrong.length + checks.length;
  return { findings, attempts: refused + 1, refused };
}

/** Values of a run's own free columns with which a check does not hold. */
function violation(machine: Machine, name: string, row: Values): Values | undefined {
  const node = machine.checks?.[name];
  if (!node) return undefined;
  const free = walk(node)
    .flatMap((part) => ('col' in part ? [part.col] : []))
    .filter((column) => !machine.frozen.includes(column));
  const values = [...new Set([...Object.values(row), null, true, false, 0, 1])];
  const tries = free.flatMap((column) => values.map((value) => ({ [column]: value })));
  return tries.find((change) => {
    const scope = { row: { ...row, ...change }, fields: {}, at: 0, dice: 0 };
    return evaluate(node, scope) !== true;
  });
}

function wrongChecks(machine: Machine, row: StagedRow): readonly Wrong[] {
  if (isFinal(machine, row)) return [];
  return Object.keys(machine.checks ?? {}).map((name) => {
    const change = violation(machine, name, row);
    if (!change) throw new Error(`${machine.id}: nothing was found that breaks check ${name}`);
    const columns = Object.entries(change).map(([column, value]) => [
      column,
      value === null ? 'null' : literal(String(value)),
    ]);
    return {
      text: updateText(machine, row.id, Object.fromEntries(columns)),
      rule: `${machine.id}_${name}`,
      names: [row.id, name],
    };
  });
}

/** Every rule, broken in every status in which it can be. */
export async function brokenRules(subject: Subject): Promise<RawReport> {
  const { machine } = subject.entry;
  const rows = await stageStatuses(subject);
  const wrong = [
    ...rows.flatMap((row) => wrongUpdates(machine, row)),
    ...rows.flatMap((row) => wrongChecks(machine, row)),
    ...wrongDeletes(machine, rows),
  ];
  const findings: string[] = [];
  for (const { text, rule, names } of wrong) {
    findings.push(...(await mustRefuse(subject, text, rule, names)));
  }
  const [first] = rows;
  const born = first ? await births(subject, first) : { findings: [], attempts: 0, refused: 0 };
  return {
    findings: [...findings, ...born.findings],
    attempts: wrong.length + born.attempts,
    refused: wrong.length + born.refused,
  };
}
