// Idempotency keys: the same request under the same key is done once and answered the same, however
// often and by however many connections it comes.
//
// - A key is a caller's own and of one route: two callers may use the same.
// - What was done and what was answered are committed together. A process that dies before the
//   commit has done nothing; one that dies behind it has left the answer for the next try.
// - While the first request runs, others with its key get 409 at once. A key that was used for
//   another request gets 422.
// - An answer is kept for a week, and as long as the run to which it points is not at its end.
// - Refusals of the handler (4xx) are answers and kept, without what it wrote; what broke (5xx) is
//   not. What never came to the handler, as a body with a mistake in it, does not use up the key.

import { createHash } from 'node:crypto';
import type { Database } from '../../persistence/database.ts';
import { canonical } from '../../persistence/definition-hash.ts';
import {
  keep,
  type RequestKey,
  readKept,
  takeKey,
  undoable,
} from '../../persistence/idempotency.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import { type Printed, printed } from './answer.ts';
import { frame, type Problem, ProblemError, problem } from './problem.ts';
import { isProblem, type Reply, type Route, routeName } from './route.ts';

export const keyHeader = 'idempotency-key';
const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** @throws ProblemError for a key that is none. */
export function readKey(given: string | readonly string[] | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && keyPattern.test(given)) return given;
  const detail = 'A key is 1 to 255 printable characters of ASCII, without blanks.';
  const errors = [{ code: 'invalid', pointer: `/${keyHeader}`, detail }];
  const says = 'See errors for what is wrong and where.';
  throw new ProblemError(problem(frame.invalidHeaders, says, { errors }));
}

export interface Asked {
  readonly route: Route;
  readonly principal: string;
  readonly key: string | undefined;
  readonly requestId: string;
  /** All of the request that its answer depends on. */
  readonly request: unknown;
}

type Handle = (tx: Tx) => Promise<Reply | Problem>;

/** Takes a problem for an answer also where it was thrown. */
async function attempt(handle: Handle, tx: Tx): Promise<Reply | Problem> {
  try {
    return await handle(tx);
  } catch (error) {
    if (error instanceof ProblemError) return error.problem;
    throw error;
  }
}

const runId = /\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The run to which an answer points, where it points to anything. */
const runOf = ({ headers }: Printed): string | null =>
  runId.exec(headers['Location'] ?? '')?.[1] ?? null;

/** What was answered under the key before, if it was. */
async function again(tx: Tx, named: RequestKey, fingerprint: string) {
  const kept = await readKept(tx, named);
  if (!kept) return undefined;
  if (kept.fingerprint !== fingerprint) {
    const detail = 'It was used for a request with another path, query or body. Take a new key.';
    return problem(frame.keyReused, detail);
  }
  const headers: Printed['headers'] = JSON.parse(kept.headers);
  return { ...kept, headers: { ...headers, 'Idempotency-Replayed': 'true' } };
}

async function underKey(tx: Tx, asked: Asked & { readonly key: string }, handle: Handle) {
  const { route, principal, key, requestId, request } = asked;
  const answer = (reply: Reply | Problem): Printed => printed(route, reply, requestId);
  const named = { principal, route: routeName(route), key };
  const fingerprint = createHash('sha256').update(canonical(request)).digest('hex');
  // Once before it is taken, so that many who ask again do not send each other away.
  const known = await again(tx, named, fingerprint);
  if (!known && !(await takeKey(tx, named))) {
    const detail = 'A request with this Idempotency-Key is running. Ask again for its answer.';
    return answer(problem(frame.requestInProgress, detail, { headers: { 'Retry-After': '1' } }));
  }
  const kept = known ?? (await again(tx, named, fingerprint));
  if (kept) return isProblem(kept) ? answer(kept) : kept;
  const reply = await undoable(tx, () => attempt(handle, tx), isProblem);
  const first = answer(reply);
  if (first.status < 500) {
    const headers = JSON.stringify(first.headers);
    await keep(tx, named, { ...first, headers, fingerprint, run: runOf(first) });
  }
  return first;
}

/** Has a request handled in a transaction of its own, and under its key if it has one. */
export async function handleOnce(database: Database, asked: Asked, handle: Handle) {
  const { key, route, requestId } = asked;
  return await transaction(database, async (tx) => {
    if (key !== undefined) return await underKey(tx, { ...asked, key }, handle);
    const reply = await undoable(tx, () => attempt(handle, tx), isProblem);
    return printed(route, reply, requestId);
  });
}
