// What types cannot see in a declaration, checked when a machine is loaded: before it is compiled,
// installed or run. A machine that passes can be trusted by every reading of it.
//
// Not checked here: that the columns exist in the database (persistence/definitions.ts asks its
// catalogue), and that every arrow can be taken (the generated tests take them all).

import { type Arrow, arrowsOf, dueColumn, isFinal, isLeased } from './arrows.ts';
import { isNullable, kindOf, kindOfDeclared, MachineError, type Names, walk } from './kind-of.ts';
import type { Machine } from './status-machine.ts';
import type { Kind, Node } from './vocabulary.ts';

// Names become identifiers, literals and parts of trigger names: 63 bytes are Postgres's limit, and
// the longest suffix that the guards add is 20. What passes here needs no escaping anywhere.
const namePattern = /^[a-z][a-z0-9_]{0,39}$/;
const eventPattern = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/;
const kernelColumns = ['id', 'status', 'seq', 'event', 'actor', 'definition'];
const reservedFields = ['id', 'fence', 'actor', 'limit', 'where', 'type', 'at', 'dice', 'n'];
const reservedConditions = ['wrong_status'];
const largestInt = 2_147_483_647;

function inPlace<T>(place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof MachineError)) throw error;
    throw new MachineError(`${place}: ${error.message}`, { cause: error });
  }
}

function refuse(when: boolean, message: string): void {
  if (when) throw new MachineError(message);
}

function checkNames(machine: Machine): void {
  const named = [
    machine.id,
    machine.table,
    ...Object.keys(machine.columns),
    ...Object.keys(machine.states),
    ...Object.keys(machine.checks ?? {}),
    ...Object.values(machine.events).flatMap((event) => Object.keys(event.fields ?? {})),
    ...arrowsOf(machine).flatMap((arrow) => Object.keys(arrow.guard)),
  ];
  for (const name of named) {
    refuse(!namePattern.test(name), `"${name}" is no name: use a-z, 0-9 and _, at most 40`);
  }
  for (const [event, { fields = {} }] of Object.entries(machine.events)) {
    refuse(!eventPattern.test(event) || event.length > 40, `"${event}" is no name of an event`);
    for (const name of reservedFields) {
      refuse(name in fields, `event "${event}": the field name "${name}" is the kernel's`);
    }
  }
  for (const name of kernelColumns) {
    refuse(name in machine.columns, `the column name "${name}" is the kernel's`);
  }
}

function checkOwnership(machine: Machine): void {
  const { columns, frozen } = machine;
  refuse(columns[machine.fence] !== 'int', `fence "${machine.fence}" is not a column of kind int`);
  refuse(columns[machine.lease] !== 'instant?', `lease "${machine.lease}" is not of kind instant?`);
  refuse(columns[machine.owner] !== 'text?', `owner "${machine.owner}" is not of kind text?`);
  for (const name of frozen) {
    refuse(!(name in columns), `frozen: there is no column "${name}"`);
    const moves = [machine.fence, machine.lease, machine.owner].includes(name);
    refuse(moves, `frozen: "${name}" has to move`);
  }
}

const isEmpty = (operands: unknown) => Array.isArray(operands) && operands.length === 0;

function checkExpression(node: Node, names: Names, wanted: Kind): void {
  const kind = kindOf(node, names);
  refuse(kind !== undefined && kind !== wanted, `is ${kind}, not ${wanted}`);
  for (const each of walk(node)) {
    refuse(Object.values(each).some(isEmpty), 'an operator has no operands');
    if ('lit' in each && typeof each.lit === 'number') {
      refuse(!Number.isInteger(each.lit) || Math.abs(each.lit) > largestInt, 'is no int4');
    }
    if ('backoff' in each) {
      const { baseMs, capMs } = each.backoff;
      const good = Number.isInteger(baseMs) && Number.isInteger(capMs) && baseMs >= 1;
      refuse(!good || capMs < baseMs || capMs > largestInt, 'backoff takes 1 ≤ base ≤ cap in ms');
    }
  }
}

function checkGuard(guard: Arrow['guard'], names: Names): void {
  for (const [name, condition] of Object.entries(guard)) {
    inPlace(`guard "${name}"`, () => {
      refuse(reservedConditions.includes(name), "the name is the kernel's");
      checkExpression(condition, names, 'bool');
      refuse(
        walk(condition).some((node) => 'backoff' in node),
        'a guard uses no dice',
      );
    });
  }
}

function checkClaim(machine: Machine, arrow: Arrow): void {
  const raised = arrow.set[machine.fence];
  const raises =
    raised && 'increment' in raised && 'col' in raised.increment
      ? raised.increment.col === machine.fence
      : false;
  refuse(!raises, `a claim raises the fence: set ${machine.fence} to its increment`);
  refuse(!isLeased(machine, arrow.to), `a claim leads to a leased status, "${arrow.to}" is none`);
  refuse(!(machine.owner in arrow.set), `a claim sets ${machine.owner}`);
  refuse(!(machine.lease in arrow.set), `a claim sets ${machine.lease}`);
}

function checkArrow(machine: Machine, arrow: Arrow): void {
  const { by, fields = {} } = machine.events[arrow.event] ?? { by: 'operator' as const };
  const names = { columns: machine.columns, fields };
  checkGuard(arrow.guard, names);
  for (const [column, node] of Object.entries(arrow.set)) {
    inPlace(`set "${column}"`, () => {
      const declared = machine.columns[column];
      refuse(declared === undefined, 'there is no such column');
      refuse(machine.frozen.includes(column), 'the column is frozen');
      if (declared) checkExpression(node, names, kindOfDeclared(declared));
    });
  }
  if (by === 'claim') {
    checkClaim(machine, arrow);
    return;
  }
  refuse(machine.fence in arrow.set, 'only a claim raises the fence');
  refuse(
    isLeased(machine, arrow.to) && !isLeased(machine, arrow.from),
    `only a claim enters the leased status "${arrow.to}"`,
  );
  refuse(
    by === 'owner' && !isLeased(machine, arrow.from),
    `an owner's event leaves from a leased status, "${arrow.from}" is none`,
  );
  refuse(
    by === 'sweep' && dueColumn(arrow) === undefined,
    'a sweep is judged by time: its guard needs lte(col(…), clock)',
  );
}

function checkBranches(arrows: readonly Arrow[]): void {
  const open = arrows.findIndex((arrow) => Object.keys(arrow.guard).length === 0);
  refuse(
    open >= 0 && open < arrows.length - 1,
    'an arrow after one without a guard is never taken',
  );
}

function reachable(machine: Machine): ReadonlySet<string> {
  const seen = new Set([machine.initial]);
  // A set that grows while it is walked: each status is visited once.
  for (const status of seen) {
    for (const arrow of arrowsOf(machine)) if (arrow.from === status) seen.add(arrow.to);
  }
  return seen;
}

function checkStates(machine: Machine): void {
  refuse(!(machine.initial in machine.states), `there is no initial status "${machine.initial}"`);
  refuse(isLeased(machine, machine.initial), 'a run is not born with an owner');
  const arrows = arrowsOf(machine);
  for (const { from, event, to } of arrows) {
    refuse(!(event in machine.events), `status "${from}": the event "${event}" is not declared`);
    refuse(!(to in machine.states), `"${from}" on "${event}": there is no status "${to}"`);
  }
  const reached = reachable(machine);
  for (const status of Object.keys(machine.states)) {
    inPlace(`status "${status}"`, () => {
      const leaving = arrows.filter((arrow) => arrow.from === status);
      const final = isFinal(machine, status);
      refuse(final && leaving.length > 0, 'a final status has no arrows');
      refuse(final && isLeased(machine, status), 'a final status has no owner');
      refuse(!final && leaving.length === 0, 'nothing leaves it: make it final');
      refuse(!reached.has(status), 'no arrow leads to it');
    });
  }
  for (const [name, command] of Object.entries(machine.commands ?? {})) {
    for (const status of command.from) {
      refuse(!isFinal(machine, status), `command "${name}": "${status}" is not final`);
    }
  }
}

/**
 * Checks a declaration and returns it.
 * @throws MachineError that names the machine, the place and the mistake.
 */
export function checkMachine<M extends Machine>(machine: M): M {
  return inPlace(`machine "${machine.id}"`, () => {
    checkNames(machine);
    checkOwnership(machine);
    checkStates(machine);
    const arrows = arrowsOf(machine);
    for (const [event, { by }] of Object.entries(machine.events)) {
      const sent = arrows.filter((arrow) => arrow.event === event);
      inPlace(`event "${event}"`, () => {
        refuse(sent.length === 0, 'no arrow is taken by it');
        const columns = new Set(sent.map(dueColumn));
        refuse(by === 'sweep' && columns.size > 1, 'its arrows wait for different columns');
      });
      for (const from of Object.keys(machine.states)) {
        const place = `"${from}" on "${event}"`;
        const branches = sent.filter((arrow) => arrow.from === from);
        inPlace(place, () => checkBranches(branches));
        for (const arrow of branches) inPlace(place, () => checkArrow(machine, arrow));
      }
    }
    const names = { columns: machine.columns, fields: {} };
    for (const [name, node] of Object.entries(machine.checks ?? {})) {
      inPlace(`check "${name}"`, () => checkExpression(node, names, 'bool'));
    }
    // An unguarded write of a value that may be null into a column that may not is found by the
    // database; a claim's lease and owner come from fields, so those are checked here.
    for (const { by, fields = {} } of Object.values(machine.events)) {
      for (const name of by === 'claim' ? Object.keys(fields) : []) {
        refuse(isNullable(fields[name] ?? 'int'), `a claim's field "${name}" is never null`);
      }
    }
    return machine;
  });
}
