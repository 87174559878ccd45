// The provider `postgres`: branches are databases of the server that the service itself is on. A
// reset is a copy of the parent as it is now; while it is made nobody can be in the parent.
//
// - It is asynchronous: a request is a row, and the runner carries it out. Whether a process that
//   died had begun does not matter: the next poll goes on from there.

import type { Logger } from 'pino';
import { branchNameFault } from '../../persistence/branch-names.ts';
import { openBranchRunner } from '../../persistence/branch-runner.ts';
import type { ClientClass } from '../../persistence/branch-session.ts';
import {
  acceptBranchOperation,
  type BranchOperation,
  listBranches,
  newerBranchOperations,
  newestBranchOperation,
  readBranchOperation,
} from '../../persistence/branches.ts';
import { CommitInDoubtError } from '../../persistence/connection.ts';
import type { Database } from '../../persistence/database.ts';
import { printInstant } from '../../persistence/instant.ts';
import { describeError } from '../describe-error.ts';
import type { Answer, ExternalOperation, Progress, Provider } from './provider.ts';

export interface PostgresProviderOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly clientClass?: ClientClass;
}

const ok = <T>(value: T): Answer<T> => ({ result: 'ok', value });

/** Reads, and a transaction that was rolled back, have changed nothing. */
async function reading<T>(work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return ok(await work());
  } catch (error) {
    const said = { error: describeError(error), retryAfterMs: null };
    if (error instanceof CommitInDoubtError) return { result: 'unclear', ...said };
    return { result: 'refused', passing: true, ...said };
  }
}

function detailOf({ last_error: error, closed_at: closed, opened_at: opened }: BranchOperation) {
  if (error !== null) return error;
  if (closed === null || opened === null) return null;
  return `the parent was closed for ${Math.round((opened - closed) / 1000)} ms`;
}

const shown = (operation: BranchOperation): ExternalOperation => ({
  id: String(operation.id),
  action: operation.action,
  status: operation.status,
  failures: operation.failures,
  createdAt: printInstant(operation.created_at),
  updatedAt: printInstant(operation.updated_at),
  detail: detailOf(operation),
});

export function postgresProvider(options: PostgresProviderOptions): Provider {
  const { database, log, clientClass } = options;
  const runner = openBranchRunner({
    database,
    onError: (error) => log.warn({ err: error }, 'branches: not carried out, trying again'),
    ...(clientClass && { clientClass }),
  });

  const third = (ms: number) => Math.ceil(ms / 3);
  const { lockMs, statementMs, idleMs, transactionMs } = database.limits;
  const limits = {
    lockMs: third(lockMs),
    statementMs: third(statementMs),
    idleMs: third(idleMs),
    transactionMs: third(transactionMs),
  };

  async function progress(operations: readonly ExternalOperation[]): Promise<Progress> {
    const rows = await Promise.all(
      operations.map(async (known) => {
        const row = await readBranchOperation(database, Number(known.id));
        return row ? shown(row) : { ...known, status: 'gone' };
      }),
    );
    const every = (status: string) => rows.every((each) => each.status === status);
    if (rows.some(({ status }) => status === 'error')) return { operations: rows, state: 'failed' };
    if (every('finished')) return { operations: rows, state: 'done' };
    runner.kick();
    return { operations: rows, state: 'going' };
  }

  return {
    name: 'postgres',
    nameFault: branchNameFault,
    // What connection.ts gives a server that cannot be heard.
    timeoutMs: Math.ceil(limits.transactionMs * 1.1 + 100),
    list: () =>
      reading(async () => {
        const rows = await listBranches(database);
        return rows.map((row) => ({
          name: row.name,
          parent: row.parent,
          state: row.is_busy ? ('busy' as const) : ('ready' as const),
          fixed: row.is_own ? ('own' as const) : row.parent === null ? ('root' as const) : null,
          hasChildren: row.has_children,
        }));
      }),
    mark: ({ branch }) =>
      reading(async () => {
        const id = await newestBranchOperation(database, branch);
        return id === null ? null : String(id);
      }),
    async issue(change, latest) {
      const isLate = () => performance.now() > latest;
      const accepted = await reading(() =>
        acceptBranchOperation(database, change, { limits, isLate }),
      );
      if (accepted.result !== 'ok') return accepted;
      if (accepted.value.outcome === 'refused') {
        const error = accepted.value.reason;
        return { result: 'refused', passing: false, error, retryAfterMs: null };
      }
      runner.kick();
      return ok([shown(accepted.value.operation)]);
    },
    since: ({ branch }, mark) =>
      reading(async () => {
        const rows = await newerBranchOperations(database, branch, Number(mark ?? 0));
        return rows.map(shown);
      }),
    poll: (_change, operations) => reading(() => progress(operations)),
    close: runner.settled,
  };
}
