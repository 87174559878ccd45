// Branches and operations as the API shows them: the shapes of its answers, and how a row becomes
// one.

import { z } from 'zod';
import { dbops } from '../../machines/dbops.ts';
import type { StatusOf } from '../../machines/status-machine.ts';
import { printInstant } from '../../persistence/instant.ts';
import type { ListedOperation, OperationEntry } from '../../persistence/operations.ts';
import type { Principal } from '../http/route.ts';
import { choice, choicesFor } from '../machines/choices.ts';
import { actions, type Branch, changeSchema, externalOperationSchema } from './provider.ts';
import type { FoundOperation } from './read.ts';

type Status = StatusOf<typeof dbops>;

export const operationId = z.uuid().meta({ id: 'OperationId', description: 'Names an operation' });
export const operationStatus = z
  .enum(Object.keys(dbops.states) as [Status, ...Status[]])
  .meta({ id: 'OperationStatus' });
export const operationAction = z.enum(actions).meta({ id: 'OperationAction' });
const instant = z.iso.datetime().meta({ description: 'UTC, to the microsecond' });

export const branchView = z
  .strictObject({
    name: z.string(),
    parent: z.string().nullable().meta({ description: 'Null: a root, which is never changed' }),
    state: z.enum(['ready', 'busy']),
    fixed: z
      .enum(['root', 'protected', 'own'])
      .nullable()
      .meta({ description: 'Why it cannot be changed; null if it can' }),
    hasChildren: z.boolean(),
  })
  .meta({ id: 'Branch' });

export const branchList = z
  .strictObject({ provider: z.string(), items: z.array(branchView) })
  .meta({ id: 'Branches' });

export const requested = z
  .strictObject({ id: operationId, status: operationStatus })
  .meta({ id: 'RequestedOperation' });

const externalOperation = z
  .strictObject({
    ...externalOperationSchema.shape,
    status: z.string().meta({ description: 'In the provider’s own words' }),
  })
  .meta({ id: 'ExternalOperation' });

const common = {
  id: operationId,
  status: operationStatus,
  outcome: z
    .enum(['ok', 'failed', 'not_issued', 'unknown'])
    .nullable()
    .meta({ description: '`unknown`: look it up at the provider before you ask again' }),
  provider: z.string(),
  action: operationAction,
  branch: z.string(),
  parent: z.string().nullable(),
  keepAs: z.string().nullable(),
  requestedBy: z.string(),
  createdAt: instant,
  issuedAt: instant.nullable().meta({ description: 'From here on the call may have happened' }),
  nextPollAt: instant.nullable(),
  deadlineAt: instant.nullable(),
  finishedAt: instant.nullable(),
  issueMark: z.string().nullable().meta({ description: 'The provider’s newest operation then' }),
  refusals: z.int().meta({ description: 'How often the provider refused it for the time being' }),
  polls: z.int(),
  operations: z.array(externalOperation),
  error: z.string().nullable().meta({ description: 'Why it did not succeed' }),
  lastError: z.string().nullable().meta({ description: 'The last trouble on the way' }),
};

export const listedOperation = z.strictObject(common).meta({ id: 'ListedOperation' });

export const operationEntry = z
  .strictObject({
    seq: z.int(),
    at: instant,
    event: z.string().nullable().meta({ description: 'Null: a write from outside the service' }),
    actor: z.string(),
    from: z.string(),
    to: z.string(),
    fence: z.int(),
  })
  .meta({ id: 'OperationEntry' });

export const operationView = z
  .strictObject({ ...common, journal: z.array(operationEntry), choices: z.array(choice) })
  .meta({ id: 'Operation' });

export const operationEnd = z.strictObject({
  status: operationStatus,
  outcome: common.outcome,
  error: common.error,
});

const printed = (at: number | null): string | null => (at === null ? null : printInstant(at));
const outcomeOf = common.outcome;

export const branchAnswer = (branch: Branch): z.input<typeof branchView> => ({ ...branch });

export function listedAnswer(row: ListedOperation): z.input<typeof listedOperation> {
  const { branch, parent = null, keepAs = null, action } = changeSchema.parse(row.request);
  return {
    id: row.id,
    status: row.status as Status,
    outcome: outcomeOf.parse(row.outcome),
    provider: row.provider,
    ...{ action, branch, parent, keepAs },
    requestedBy: row.principal,
    createdAt: printInstant(row.created_at),
    issuedAt: printed(row.issued_at),
    nextPollAt: printed(row.next_poll_at),
    deadlineAt: printed(row.deadline_at),
    finishedAt: printed(row.finished_at),
    issueMark: row.issue_mark,
    refusals: row.refusals,
    polls: row.polls,
    operations: externalOperationSchema.array().parse(row.operations ?? []),
    error: row.error,
    lastError: row.last_error,
  };
}

export const entryAnswer = (entry: OperationEntry): z.input<typeof operationEntry> => ({
  seq: entry.seq,
  at: printInstant(entry.at),
  event: entry.event,
  actor: entry.actor,
  from: entry.from_status,
  to: entry.to_status,
  fence: entry.fence,
});

export function operationAnswer(
  { row, journal }: FoundOperation,
  principal: Principal,
): z.input<typeof operationView> {
  return {
    ...listedAnswer(row),
    journal: journal.map(entryAnswer),
    choices: choicesFor({
      machine: dbops,
      row,
      at: row.read_at,
      principal,
      scopeOf: () => 'operations:write',
    }),
  };
}

export const endAnswer = (row: ListedOperation): z.input<typeof operationEnd> => ({
  status: row.status as Status,
  outcome: outcomeOf.parse(row.outcome),
  error: row.error,
});
