// The database's own guard: triggers that refuse what a machine does not declare, whoever writes.
// Migrations make the triggers; `definitions.ts` puts the functions of a definition behind them.
//
// - A change of arrows or checks replaces functions only (no table lock). Measured: replacing a
//   trigger needs ACCESS EXCLUSIVE and, behind one open step, stopped every worker for a second.
// - BEFORE INSERT judges in its WHEN clause and UPDATE OF goes by the SET list: both cost nothing
//   when nothing is wrong. Comparing a frozen column of 1.1 MB in a row trigger costs 1 ms an
//   update.
// - Not held: superusers who disable triggers, `session_replication_role`, guards over event
//   fields.
//   Source: PostgreSQL manual, CREATE TRIGGER; 43.10 Trigger Functions.

import { arrowsBy, arrowsOf, isFinal, isLeased } from '../machines/arrows.ts';
import type { Machine } from '../machines/status-machine.ts';
import { identifier, literal, print, qualified } from './print.ts';

/**
 * What the triggers of a table say. A migration writes it out: it must not change with the machine.
 */
export interface GuardedTable {
  readonly machine: string;
  readonly table: string;
  readonly initial: string;
  readonly fence: string;
  readonly lease: string;
  readonly owner: string;
  readonly frozen: readonly string[];
  /** Whether the machine declares checks: then births are judged by them too. */
  readonly checked?: boolean;
}

const functionName = (machine: string, what: string) => qualified(`${machine}_${what}`);
const list = (names: readonly string[]) => names.map(literal).join(', ') || 'null';

function triggerFunction(machine: string, what: string, body: string, settings = ''): string {
  // A literal of the machine may hold what looks like the end of the body.
  let quote = '$guard$';
  while (body.includes(quote)) quote = quote.replace(/\$$/, '_$');
  return `create or replace function ${functionName(machine, what)}() returns trigger
language plpgsql set search_path = pg_catalog ${settings}as ${quote}
${body}
${quote}`;
}

/**
 * Statements that guard a table of runs. Until a definition is installed every update is refused.
 */
export function guardTriggers(table: GuardedTable): readonly string[] {
  const { machine, initial, fence, lease, owner, frozen } = table;
  const name = qualified(table.table);
  const born = [
    `new.status is distinct from ${literal(initial)}`,
    `new.${identifier(fence)} is distinct from 0`,
    'new.seq is distinct from 0',
    `new.${identifier(lease)} is not null`,
    `new.${identifier(owner)} is not null`,
    'new.event is not null',
  ].join(' or ');
  const refuse = (what: string, rule: string, message: string, hint: string) =>
    triggerFunction(
      machine,
      what,
      `begin
  raise exception using errcode = 'check_violation', schema = tg_table_schema, table = tg_table_name,
    constraint = ${literal(`${machine}_${rule}`)}, message = ${message}, hint = ${literal(hint)};
end`,
    );
  return [
    refuse(
      'refuse_birth',
      'birth',
      `format('%s %s cannot be born as "%s"', tg_table_name, new.id, new.status)`,
      `A run of ${machine} begins as "${initial}", with ${fence} and seq 0, without lease, owner and event.`,
    ),
    refuse(
      'refuse_frozen',
      'frozen',
      `format('%s %s: what it was born with does not change', tg_table_name, old.id)`,
      `Frozen: ${['id', ...frozen].join(', ')}.`,
    ),
    refuse(
      'refuse_truncate',
      'truncate',
      `format('%s cannot be truncated: its runs would vanish without a trace', tg_table_name)`,
      'Delete runs that have come to their end.',
    ),
    ...['guard', 'journal'].map((what) =>
      triggerFunction(
        machine,
        what,
        `begin
  raise exception using errcode = 'object_not_in_prerequisite_state',
    message = ${literal(`no definition of machine ${machine} is installed`)};
end`,
      ),
    ),
    triggerFunction(
      machine,
      'forget',
      `begin
  delete from ${qualified('journal')} j using gone where j.machine = ${literal(machine)} and j.run = gone.id;
  delete from ${qualified('quarantine')} q using gone where q.machine = ${literal(machine)} and q.run = gone.id;
  return null;
end`,
    ),
    `create trigger birth before insert on ${name} for each row when (${born})
  execute function ${functionName(machine, 'refuse_birth')}()`,
    ...(table.checked
      ? [
          `create trigger checked before insert on ${name} for each row
  execute function ${functionName(machine, 'guard')}()`,
        ]
      : []),
    `create trigger frozen before update of ${['id', ...frozen].map(identifier).join(', ')} on ${name}
  for each row execute function ${functionName(machine, 'refuse_frozen')}()`,
    `create trigger guard before update or delete on ${name} for each row
  execute function ${functionName(machine, 'guard')}()`,
    `create trigger truncated before truncate on ${name} for each statement
  execute function ${functionName(machine, 'refuse_truncate')}()`,
    `create trigger journal after update on ${name}
  referencing old table as was new table as became for each statement
  execute function ${functionName(machine, 'journal')}()`,
    `create trigger forget after delete on ${name} referencing old table as gone for each statement
  execute function ${functionName(machine, 'forget')}()`,
  ];
}

const raise = (machine: Machine, hint: string, which = 'old') => `if rule is not null then
    raise exception using errcode = 'check_violation', schema = tg_table_schema, table = tg_table_name,
      constraint = ${literal(`${machine.id}_`)} || rule,
      message = format('%s %s: ', tg_table_name, ${which}.id) || message, hint = ${hint};
  end if;`;

function declaredFrom(machine: Machine): string {
  const lines = Object.keys(machine.states).map((status) => {
    const arrows = arrowsOf(machine).filter((arrow) => arrow.from === status);
    const said = [...new Set(arrows.map((arrow) => `${arrow.event} → ${arrow.to}`))].join(', ');
    return `when ${literal(status)} then ${literal(said ? `Declared from "${status}": ${said}.` : `"${status}" is final.`)}`;
  });
  return `case old.status ${lines.join(' ')} else 'This definition does not know the status.' end`;
}

/**
 * What an update by the service has to fulfil, in one expression: the quick way through the guard.
 */
function declaredUpdate(machine: Machine, leased: string, checks: readonly string[]): string {
  const [fence, lease, owner] = [machine.fence, machine.lease, machine.owner].map(identifier);
  const byEvent = Object.keys(machine.events).map((event) => {
    const arrows = arrowsBy(machine, event);
    const pairs = [...new Set(arrows.map((arrow) => arrow.from))].map((from) => {
      const targets = arrows.filter((arrow) => arrow.from === from).map((arrow) => arrow.to);
      return `old.status = ${literal(from)} and new.status in (${list([...new Set(targets)])})`;
    });
    return `when ${literal(event)} then ${pairs.join(' or ')}`;
  });
  return [
    'new.seq = old.seq + 1 and new.actor is not null',
    `case new.event ${byEvent.join('\n      ')} else false end`,
    `new.${fence} >= old.${fence}`,
    `case when new.status in (${leased}) then new.${lease} is not null and new.${owner} is not null
      and (new.${fence} > old.${fence} or old.status in (${leased}) and new.${owner} = old.${owner})
      else new.${lease} is null and new.${owner} is null end`,
    ...checks,
  ].join('\n    and ');
}

/** The row checks that the machine declares, over a row of that alias, by name. */
export function rowChecks(
  machine: Machine,
  row = 'new',
): readonly { readonly name: string; readonly sql: string }[] {
  const places = {
    names: { columns: machine.columns, fields: {} },
    col: (column: string) => `${row}.${identifier(column)}`,
    field: () => 'null',
    clock: 'clock_timestamp()',
    actor: 'null::text',
    dice: '0::float8',
  };
  return Object.entries(machine.checks ?? {}).map(([name, node]) => ({
    name,
    sql: `(${print(node, places, 'bool')}) is true`,
  }));
}

/** What a birth has to fulfil besides its form: the checks. Without any, no trigger asks. */
function birthChecks(machine: Machine, checks: ReturnType<typeof rowChecks>): string {
  // A trigger for checks to come may be there before the definition that has some.
  if (checks.length === 0) return "\n  if tg_op = 'INSERT' then return new; end if;";
  const cases = checks.map(
    ({ name, sql }, i) =>
      `${i === 0 ? 'if' : 'elsif'} not (${sql}) then
      rule := ${literal(name)}; message := ${literal(`the check "${name}" does not hold`)};`,
  );
  return `
  if tg_op = 'INSERT' then
    ${cases.join('\n    ')}
    end if;
    ${raise(machine, literal('Checks hold from birth on.'), 'new')}
    return new;
  end if;`;
}

function guardBody(machine: Machine): string {
  const arrows = arrowsOf(machine);
  const statuses = Object.keys(machine.states);
  const leased = list(statuses.filter((status) => isLeased(machine, status)));
  const final = list(statuses.filter((status) => isFinal(machine, status)));
  const [fence, lease, owner] = [machine.fence, machine.lease, machine.owner].map(identifier);
  const moves = [...new Set(arrows.map(({ from, to }) => `(${literal(from)}, ${literal(to)})`))];
  const events = [
    ...new Set(
      arrows.map(({ from, event, to }) => `(${[from, event, to].map(literal).join(', ')})`),
    ),
  ];
  const checks = rowChecks(machine);
  const refusedChecks = checks.map(
    ({ name, sql }) => `
  elsif not (${sql}) then
    rule := ${literal(name)}; message := ${literal(`the check "${name}" does not hold`)};`,
  );
  const quick = declaredUpdate(
    machine,
    leased,
    checks.map(({ sql }) => sql),
  );
  return `declare
  rule text; message text;
begin
  if tg_op = 'DELETE' then
    if old.status not in (${final}) then
      rule := 'live'; message := format('is "%s" and cannot be deleted', old.status);
    end if;
    ${raise(machine, literal('Only a run that has come to its end can be deleted.'))}
    return old;
  end if;${birthChecks(machine, checks)}
  -- In parentheses: THEN would otherwise end the condition at its first CASE.
  if (${quick}) then
    return new;
  end if;
  -- Who does not count the transition is not the service: the write is taken for one from outside.
  if new.seq is distinct from old.seq + 1 or new.event is null or new.actor is null then
    new.seq := old.seq + 1; new.event := null; new.actor := 'outside: ' || session_user;
    new.definition := old.definition;
  end if;
  -- Leaving a leased status clears lease and owner, whoever leaves it.
  if new.status not in (${leased}) then
    new.${lease} := null; new.${owner} := null;
  end if;
  if old.status in (${final}) then
    rule := 'terminal'; message := format('is "%s" and never changes again', old.status);
  elsif new.event is not null and (old.status, new.event, new.status) not in (${events.join(', ')}) then
    rule := 'arrow';
    message := format('"%s" cannot become "%s" by "%s"', old.status, new.status, new.event);
  elsif new.status is distinct from old.status
      and (new.status is null or (old.status, new.status) not in (${moves.join(', ')})) then
    rule := 'arrow'; message := format('"%s" cannot become "%s"', old.status, new.status);
  elsif new.${fence} is null or new.${fence} < old.${fence} then
    rule := 'fence'; message := format('the fence cannot go down from %s to %s', old.${fence}, new.${fence});
  elsif new.status in (${leased}) and new.${fence} <= old.${fence}
      and (old.status not in (${leased}) or new.${owner} is distinct from old.${owner}) then
    rule := 'claim'; message := format('"%s" with another owner needs a higher fence than %s', new.status, old.${fence});
  elsif new.status in (${leased}) and (new.${lease} is null or new.${owner} is null) then
    rule := 'lease'; message := format('is "%s" and needs a lease and an owner', new.status);${refusedChecks.join('')}
  end if;
  ${raise(machine, declaredFrom(machine))}
  return new;
end`;
}

function journalBody(machine: Machine): string {
  const renewals = arrowsOf(machine).filter((arrow) => arrow.renewal);
  const others = arrowsOf(machine).filter((arrow) => !arrow.renewal);
  // An event that is a renewal from one status and a step from another is journalled.
  const silent = [...new Set(renewals.map((arrow) => arrow.event))].filter(
    (event) => !others.some((arrow) => arrow.event === event),
  );
  const condition =
    silent.length > 0 ? `\n  where n.event is null or n.event not in (${list(silent)})` : '';
  return `begin
  insert into ${qualified('journal')} (machine, run, seq, at, event, actor, from_status, to_status, fence, definition)
  select ${literal(machine.id)}, n.id, n.seq, clock_timestamp(), n.event, n.actor, o.status, n.status, n.${identifier(machine.fence)}, n.definition
  from became n join was o on o.id = n.id${condition};
  return null;
end`;
}

/** Statements that put a definition behind the triggers. They lock no table; serialise them. */
export function guardFunctions(machine: Machine): readonly string[] {
  return [
    triggerFunction(machine.id, 'guard', guardBody(machine)),
    // A session keeps the plan that suited its first statement. For one row that is a nested loop,
    // which took 31 ms for 500 rows later on, where a hash join takes 3.
    triggerFunction(machine.id, 'journal', journalBody(machine), 'set enable_nestloop = off '),
  ];
}
