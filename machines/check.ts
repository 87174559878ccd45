// What types cannot see in a declaration, checked when a machine is loaded: before it is compiled,
// installed or run. A machine that passes can be trusted by every reading of it.
//
// Not checked here: that the columns exist in the database (persistence/catalogue.ts asks), and
// that every arrow can be taken (the generated tests take them all).

import { type Arrow, arrowsOf, dueColumn, isFinal, isLeased } from './arrows.ts';
import { checkNames, checkShape } from './check-shape.ts';
import { isNullable, kindOf, kindOfDeclared, MachineError, type Names, walk } from './kind-of.ts';
import type { Machine, Sender } from './status-machine.ts';
import type { Kind, Node } from './vocabulary.ts';

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

function checkOwnership(machine: Machine): void {
  const { columns, frozen } = machine;
  refuse(columns[machine.fence] !== 'int', `fence "${machine.fence}" is not a column of kind int`);
  refuse(columns[machine.lease] !== 'instant?', `lease "${machine.lease}" is not of kind instant?`);
  refuse(columns[machine.owner] !== 'text?', `owner "${machine.owner}" is not of kind text?`);
  refuse(new Set(frozen).size !== frozen.length, 'frozen: a name stands there twice');
  for (const name of frozen) {
    refuse(!Object.hasOwn(columns, name), `frozen: there is no column "${name}"`);
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

/** An owner is a column, a claim brings its owner in a field, and a sweep is nobody's. */
function checkActor(arrow: Arrow, by: Sender): void {
  const nodes = [...Object.values(arrow.guard), ...Object.values(arrow.set)].flatMap(walk);
  const asks = nodes.some((node) => 'actor' in node);
  refuse(asks && by !== 'operator', `only an operator's event knows an actor, this is by ${by}`);
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
  for (const column of [machine.owner, machine.lease]) {
    refuse(!Object.hasOwn(arrow.set, column), `a claim sets ${column}`);
  }
  const steals = isLeased(machine, arrow.from) && dueColumn(arrow) !== machine.lease;
  refuse(steals, `a claim from "${arrow.from}" waits for the lease: lte(col(lease), clock)`);
}

/** Lease and owner are what the arrow's end says: kept where it is leased, cleared elsewhere. */
function checkKept(machine: Machine, arrow: Arrow): void {
  if (!isLeased(machine, arrow.to)) return;
  refuse(Object.hasOwn(arrow.set, machine.owner), 'only a claim sets the owner');
  const lease = arrow.set[machine.lease];
  refuse(lease !== undefined && 'lit' in lease, 'a leased status keeps its lease');
}

/** What is derived is not written: neither by mistake nor to the same effect. */
function checkDerived(machine: Machine, from: string, event: string): void {
  for (const edge of [machine.states[from]?.on?.[event] ?? []].flat()) {
    if (isLeased(machine, edge.target)) continue;
    for (const column of [machine.lease, machine.owner]) {
      const isWritten = Object.hasOwn(edge.actions?.params ?? {}, column);
      refuse(isWritten, `set "${column}": entering "${edge.target}" clears it by itself`);
    }
  }
}

function checkArrow(machine: Machine, arrow: Arrow): void {
  const { by, fields = {} } = machine.events[arrow.event] ?? { by: 'operator' as const };
  const names = { columns: machine.columns, fields };
  checkActor(arrow, by);
  checkGuard(arrow.guard, names);
  for (const [column, node] of Object.entries(arrow.set)) {
    inPlace(`set "${column}"`, () => {
      const declared = machine.columns[column];
      refuse(!Object.hasOwn(machine.columns, column), 'there is no such column');
      refuse(machine.frozen.includes(column), 'the column is frozen');
      if (declared) checkExpression(node, names, kindOfDeclared(declared));
    });
  }
  if (by === 'claim') {
    checkClaim(machine, arrow);
    return;
  }
  refuse(Object.hasOwn(arrow.set, machine.fence), 'only a claim raises the fence');
  checkKept(machine, arrow);
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
  refuse(
    !Object.hasOwn(machine.states, machine.initial),
    `there is no initial status "${machine.initial}"`,
  );
  refuse(isLeased(machine, machine.initial), 'a run is not born with an owner');
  const arrows = arrowsOf(machine);
  for (const { from, event, to } of arrows) {
    const isDeclared = Object.hasOwn(machine.events, event);
    refuse(!isDeclared, `status "${from}": the event "${event}" is not declared`);
    refuse(
      !Object.hasOwn(machine.states, to),
      `"${from}" on "${event}": there is no status "${to}"`,
    );
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
      const frees = leaving.some((arrow) => dueColumn(arrow) === machine.lease);
      refuse(
        isLeased(machine, status) && !frees,
        `nothing frees it from a dead owner: a sweep or a claim waits for ${machine.lease}`,
      );
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
    checkShape(machine);
    const arrows = arrowsOf(machine);
    checkNames(
      machine,
      arrows.flatMap((arrow) => Object.keys(arrow.guard)),
    );
    checkOwnership(machine);
    checkStates(machine);
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
        inPlace(place, () => checkDerived(machine, from, event));
        for (const arrow of branches) inPlace(place, () => checkArrow(machine, arrow));
      }
    }
    const names = { columns: machine.columns, fields: {} };
    for (const [name, node] of Object.entries(machine.checks ?? {})) {
      inPlace(`check "${name}"`, () => {
        checkExpression(node, names, 'bool');
        refuse(
          walk(node).some((each) => 'backoff' in each),
          'a check uses no dice',
        );
        refuse(
          walk(node).some((each) => 'actor' in each),
          'a check knows no actor: set a column to it',
        );
      });
    }
    // An unguarded write of a value that may be null into a column that may not is found by the
    // database; a claim's lease and owner come from fields, so those are checked here.
    for (const [event, { by, fields = {} }] of Object.entries(machine.events)) {
      const brings = by === 'sweep' && Object.keys(fields).length > 0;
      refuse(brings, `event "${event}": a sweep brings no fields`);
      for (const name of by === 'claim' ? Object.keys(fields) : []) {
        refuse(isNullable(fields[name] ?? 'int'), `a claim's field "${name}" is never null`);
      }
    }
    return machine;
  });
}
