// Asking for a change to a branch, and taking that back. HTTP, plans and tests call it.
//
// - One in flight a target: whoever comes second is told of the first, by a unique index and not by
//   a look before.
// - A key is a principal's own. The same request under it is the same operation, also when it has
//   long ended; another request under it is refused.
// - `enqueueChange` is for callers that have a transaction: the operation exists exactly when what
//   caused it does. It asks no provider; what the provider refuses ends as `not_issued`.

import { createHash } from 'node:crypto';
import { dbops } from '../../machines/dbops.ts';
import { heal } from '../../persistence/claims.ts';
import { create } from '../../persistence/create.ts';
import type { Database } from '../../persistence/database.ts';
import { send } from '../../persistence/door.ts';
import {
  operationConflict,
  readInFlight,
  readOperation,
  readOperationByKey,
} from '../../persistence/operations.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { isUuid } from '../../persistence/values.ts';
import type { Branch, Change, Provider } from './provider.ts';

export interface Asking {
  /** The principal who asks. */
  readonly actor: string;
  readonly idempotencyKey: string;
  readonly change: Change;
}

export type Enqueued =
  | { readonly outcome: 'accepted'; readonly id: string }
  /** The same request was made before, under this key. */
  | { readonly outcome: 'replayed'; readonly id: string }
  /** Another request was made under this key, as `id`. */
  | { readonly outcome: 'idempotency_key_reused'; readonly id: string }
  /** Another operation has the branch. */
  | { readonly outcome: 'in_flight'; readonly id: string };

export type Requested =
  | Enqueued
  | { readonly outcome: 'branch_not_found' | 'parent_not_found'; readonly branch: string }
  | { readonly outcome: 'branch_exists' | 'has_children'; readonly branch: string }
  | { readonly outcome: 'branch_fixed'; readonly because: NonNullable<Branch['fixed']> }
  /** No branch can have the name that it is to get. */
  | { readonly outcome: 'bad_name'; readonly of: 'branch' | 'keepAs'; readonly because: string }
  /** The provider does not say what branches there are. Nothing was enqueued. */
  | {
      readonly outcome: 'provider_unavailable';
      readonly error: string;
      readonly retryAfterMs: number | null;
    };

/** What makes two requests the same: their fields in one order, and none that is not given. */
function fingerprintOf(provider: string, change: Change): string {
  const { action, branch, parent = null, keepAs = null } = change;
  const text = JSON.stringify([provider, action, branch, parent, keepAs]);
  return createHash('sha256').update(text).digest('hex');
}

async function known(tx: Tx, provider: string, asking: Asking): Promise<Enqueued | undefined> {
  const row = await readOperationByKey(tx, asking.actor, asking.idempotencyKey);
  if (!row) return undefined;
  const isSame = row.fingerprint === fingerprintOf(provider, asking.change);
  return { outcome: isSame ? 'replayed' : 'idempotency_key_reused', id: row.id };
}

const mostRounds = 5;

/**
 * Enqueues a change in the caller's transaction. Waits for another transaction that is asking for
 * the same branch, or under the same key.
 * @throws InvalidValuesError for a text that cannot be stored.
 */
export async function enqueueChange(
  tx: Tx,
  provider: Pick<Provider, 'name'>,
  asking: Asking,
): Promise<Enqueued> {
  const { actor: principal, idempotencyKey, change } = asking;
  const run = {
    provider: provider.name,
    target: change.branch,
    action: change.action,
    request: change,
    principal,
    idempotency_key: idempotencyKey,
    fingerprint: fingerprintOf(provider.name, change),
  };
  // What stood in the way may have ended by the time it is looked at.
  for (let round = 1; ; round += 1) {
    // In this order: what has the branch may be this very request, committed between two reads.
    const other = await readInFlight(tx, provider.name, change.branch);
    const before = await known(tx, provider.name, asking);
    if (before) return before;
    if (other !== undefined) return { outcome: 'in_flight', id: other };
    try {
      const [id] = await create(tx, dbops, [run]);
      if (id === undefined) throw new Error('one operation was created and no id came back');
      return { outcome: 'accepted', id };
    } catch (error) {
      if (operationConflict(error) === undefined || round === mostRounds) throw error;
    }
  }
}

function judge(change: Change, branches: readonly Branch[]): Requested | undefined {
  const { action, branch, parent } = change;
  const found = branches.find(({ name }) => name === branch);
  if (action === 'create') {
    if (found) return { outcome: 'branch_exists', branch };
    const source = branches.find(({ name }) => name === parent);
    if (!source) return { outcome: 'parent_not_found', branch: parent ?? '' };
    return source.fixed === 'own' ? { outcome: 'branch_fixed', because: 'own' } : undefined;
  }
  if (!found) return { outcome: 'branch_not_found', branch };
  if (found.fixed !== null) return { outcome: 'branch_fixed', because: found.fixed };
  if (action === 'delete' && found.hasChildren) return { outcome: 'has_children', branch };
  const isTaken = branches.some(({ name }) => name === change.keepAs);
  return isTaken ? { outcome: 'branch_exists', branch: change.keepAs ?? '' } : undefined;
}

/** Says what is wrong with a name that does not exist yet. */
function nameProblem(provider: Provider, change: Change): Requested | undefined {
  const { action, branch, keepAs } = change;
  const of = action === 'create' ? 'branch' : 'keepAs';
  const name = action === 'create' ? branch : keepAs;
  const because = name === undefined ? undefined : provider.nameFault(name);
  return because === undefined ? undefined : { outcome: 'bad_name', of, because };
}

/**
 * Asks for a change: a known key first, then what the provider says of the branch, then one row.
 * The branch may change in between; the provider judges again when it is called.
 */
export async function requestChange(
  database: Database,
  provider: Provider,
  asking: Asking,
  signal: AbortSignal = AbortSignal.timeout(provider.timeoutMs),
): Promise<Requested> {
  const before = await transaction(database, (tx) => known(tx, provider.name, asking));
  if (before) return before;
  const misnamed = nameProblem(provider, asking.change);
  if (misnamed) return misnamed;
  const listed = await provider.list(signal);
  if (listed.result !== 'ok') {
    const { error, retryAfterMs } = listed;
    return { outcome: 'provider_unavailable', error, retryAfterMs };
  }
  const refused = judge(asking.change, listed.value);
  return refused ?? (await transaction(database, (tx) => enqueueChange(tx, provider, asking)));
}

export type Canceled =
  | { readonly outcome: 'canceled'; readonly id: string }
  | { readonly outcome: 'missing' }
  /** It has ended, or was issued: what runs outside is not ours to stop. */
  | { readonly outcome: 'refused'; readonly status: string; readonly because: readonly string[] };

/** Cancels an operation that was not issued. Doing it again is refused, with its status. */
export async function cancelOperation(tx: Tx, id: string, actor: string): Promise<Canceled> {
  if (!isUuid(id)) return { outcome: 'missing' };
  await heal(tx, dbops, id);
  const outcome = await send(tx, dbops, 'cancel', { id, actor });
  switch (outcome.outcome) {
    case 'applied':
      return { outcome: 'canceled', id };
    case 'refused':
      return { outcome: 'refused', status: outcome.status, because: outcome.because };
    case 'missing':
      return { outcome: 'missing' };
    case 'lost':
    case 'invalid':
      throw new Error(`a cancel ended as ${(await readOperation(tx, id))?.status}`);
    default:
      return outcome satisfies never;
  }
}
