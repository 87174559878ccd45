// That a declaration has the closed shape of a status machine: no key, kind, sender or name beyond
// it. Types say the same; this holds also for data that came through a cast or a generic helper.

import { MachineError } from './kind-of.ts';
import type { Machine } from './status-machine.ts';

// Names become identifiers, literals and parts of trigger names: 63 bytes are Postgres's limit, and
// the longest suffix that the guards add is 20. What passes here needs no escaping anywhere.
const namePattern = /^[a-z][a-z0-9_]{0,39}$/;
const eventPattern = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/;
const kernelColumns = ['id', 'status', 'seq', 'event', 'actor', 'definition'];
const reservedFields = ['id', 'fence', 'actor', 'limit', 'where', 'type', 'at', 'dice', 'n'];
// The guard's own rules: a check of the same name could not be told from them.
const guardRules = [
  'birth',
  'frozen',
  'truncate',
  'live',
  'terminal',
  'arrow',
  'fence',
  'claim',
  'lease',
];
const kinds = ['int', 'text', 'bool', 'instant', 'uuid', 'json'];
const senders = ['claim', 'owner', 'operator', 'sweep'];

const keys = {
  machine: [
    'id',
    'description',
    'table',
    'columns',
    'frozen',
    'fence',
    'lease',
    'owner',
    'events',
    'checks',
    'commands',
    'initial',
    'states',
  ],
  event: ['by', 'fields', 'description'],
  command: ['from', 'description'],
  state: ['type', 'tags', 'description', 'on'],
  edge: ['target', 'guard', 'actions', 'description'],
} as const;

function refuse(when: boolean, message: string): void {
  if (when) throw new MachineError(message);
}

function closed(what: keyof typeof keys, place: string, data: object): void {
  for (const key of Object.keys(data)) {
    refuse(
      !(keys[what] as readonly string[]).includes(key),
      `${place}: ${/^[ae]/.test(what) ? 'an' : 'a'} ${what} has no "${key}"`,
    );
  }
}

function checkDeclarations(place: string, declarations: object): void {
  for (const [name, declared] of Object.entries(declarations)) {
    const kind = String(declared).replace(/\?$/, '');
    refuse(!kinds.includes(kind), `${place}: "${name}" is of no kind there is: ${declared}`);
  }
}

function checkEdge(place: string, edge: object): void {
  closed('edge', place, edge);
  const { guard, actions } = edge as { guard?: { type?: string }; actions?: { type?: string } };
  refuse(guard !== undefined && guard.type !== 'when', `${place}: a guard is made by when(…)`);
  refuse(actions !== undefined && actions.type !== 'set', `${place}: an effect is made by set(…)`);
}

/** @throws MachineError for a key, kind or sender that does not exist. */
export function checkShape(machine: Machine): void {
  closed('machine', 'the declaration', machine);
  checkDeclarations('columns', machine.columns);
  for (const [name, event] of Object.entries(machine.events)) {
    closed('event', `event "${name}"`, event);
    refuse(!senders.includes(event.by), `event "${name}": nobody is called "${event.by}"`);
    checkDeclarations(`event "${name}"`, event.fields ?? {});
  }
  for (const [name, command] of Object.entries(machine.commands ?? {})) {
    closed('command', `command "${name}"`, command);
  }
  for (const [status, state] of Object.entries(machine.states)) {
    const place = `status "${status}"`;
    closed('state', place, state);
    refuse(!['undefined', 'final'].includes(String(state.type)), `${place}: its type is unknown`);
    refuse(
      (state.tags ?? []).some((tag) => tag !== 'leased'),
      `${place}: a tag is unknown`,
    );
    for (const [event, edges] of Object.entries(state.on ?? {})) {
      for (const edge of [edges ?? []].flat()) checkEdge(`"${status}" on "${event}"`, edge);
    }
  }
}

function checkName(name: string): void {
  // "constructor" is the one name of this form that every object answers to.
  const isName = namePattern.test(name) && name !== 'constructor';
  refuse(!isName, `"${name}" is no name: use a-z, 0-9 and _, at most 40`);
}

/** @throws MachineError for a name that would need escaping, or that is the kernel's. */
export function checkNames(machine: Machine, conditions: readonly string[]): void {
  const named = [
    machine.id,
    machine.table,
    ...Object.keys(machine.columns),
    ...Object.keys(machine.states),
    ...Object.keys(machine.checks ?? {}),
    ...Object.keys(machine.commands ?? {}),
    ...Object.values(machine.events).flatMap((event) => Object.keys(event.fields ?? {})),
    ...conditions,
  ];
  for (const name of named) checkName(name);
  for (const [event, { fields = {} }] of Object.entries(machine.events)) {
    const isName = eventPattern.test(event) && event.length <= 40 && event !== 'constructor';
    refuse(!isName, `"${event}" is no name of an event`);
    for (const name of reservedFields) {
      const isTaken = Object.hasOwn(fields, name);
      refuse(isTaken, `event "${event}": the field name "${name}" is the kernel's`);
    }
  }
  for (const name of kernelColumns) {
    refuse(Object.hasOwn(machine.columns, name), `the column name "${name}" is the kernel's`);
  }
  for (const name of guardRules) {
    refuse(Object.hasOwn(machine.checks ?? {}, name), `the check name "${name}" is the kernel's`);
  }
}
