// The provider `neon`: branches of one Neon project, over its HTTP API, without its SDK.
//
// - Its API takes no idempotency key. Certain refusals are 423, 429, and what carries Neon's own
//   error body with a status of 4xx or 503. Everything else after the request was written is
//   unclear, a 500 in Neon's own words too.
// - `failed` is not final there: Neon tries again by itself. Final are `error` and `cancelled`, and
//   a word that is not known is polled on.
// - Done is: every operation finished or skipped, and the branch ready with nothing pending.
//   Source: Neon API reference, restoreProjectBranch, getProjectOperation.

import { z } from 'zod';
import { readRetryAfter } from '../retry-after.ts';
import { type CallEnd, type NeonOptions, neonCalls } from './neon-call.ts';
import type {
  Answer,
  Branch,
  Change,
  ExternalOperation,
  Progress,
  Provider,
  Trouble,
} from './provider.ts';

const neonOperation = z.object({
  id: z.string(),
  branch_id: z.string().optional(),
  action: z.string(),
  status: z.string(),
  failures_count: z.number().default(0),
  error: z.string().optional(),
  created_at: z.string(),
  updated_at: z.string(),
});
type NeonOperation = z.output<typeof neonOperation>;
const neonBranch = z.object({
  id: z.string(),
  name: z.string(),
  parent_id: z.string().optional(),
  default: z.boolean().optional(),
  protected: z.boolean().optional(),
  current_state: z.string(),
  pending_state: z.string().optional(),
});
type NeonBranch = z.output<typeof neonBranch>;
const page = {
  pagination: z.object({ cursor: z.string().optional(), next: z.string().optional() }).optional(),
};
const branchPage = z.object({ branches: z.array(neonBranch), ...page });
const operationPage = z.object({ operations: z.array(neonOperation), ...page });
const operationAnswer = z.object({ operation: neonOperation });
const changed = z.object({ operations: z.array(neonOperation) });
const ownError = z.object({ message: z.string().min(1) });

/** These happen to a branch by themselves, when somebody connects to it or nobody does. */
const spontaneous = ['start_compute', 'suspend_compute', 'check_availability'];
const ended = ['finished', 'skipped'];
const lost = ['error', 'cancelled'];
const longestName = 256;
const mostPages = 20;
const pageSize = 100;

const shown = (operation: NeonOperation): ExternalOperation => ({
  id: operation.id,
  action: operation.action,
  status: operation.status,
  failures: operation.failures_count,
  createdAt: operation.created_at,
  updatedAt: operation.updated_at,
  detail: operation.error ?? null,
});

const ok = <T>(value: T): Answer<T> => ({ result: 'ok', value });
const no = <T>(error: string, passing: boolean): Answer<T> => ({
  result: 'refused',
  passing,
  error,
  retryAfterMs: null,
});

type Answered = Extract<CallEnd, { readonly end: 'answered' }>;
const troubleOf = (answer: Answered): Trouble => {
  const own = ownError.safeParse(answer.body);
  const said = own.success ? own.data.message : answer.text || 'without a word';
  return {
    error: `Neon answered ${answer.status}: ${said}`,
    retryAfterMs: readRetryAfter(answer.retryAfter, Date.now()),
  };
};

/** Whether the call has certainly changed nothing. */
function isRefusal({ status, body }: Answered): boolean {
  if (status === 423 || status === 429) return true;
  if (!ownError.safeParse(body).success) return false;
  return status === 503 || (status >= 400 && status < 500 && status !== 408);
}

function read<T>(end: CallEnd, schema: z.ZodType<T>): Answer<T> {
  if (end.end === 'unsent') return no(end.error, true);
  if (end.end === 'broken') return { result: 'unclear', error: end.error, retryAfterMs: null };
  if (end.status < 200 || end.status > 299) {
    if (!isRefusal(end)) return { result: 'unclear', ...troubleOf(end) };
    const passing = [423, 429, 503].includes(end.status);
    return { result: 'refused', passing, ...troubleOf(end) };
  }
  const value = schema.safeParse(end.body);
  if (value.success) return ok(value.data);
  const error = `Neon answered ${end.status} with what cannot be read: ${end.text}`;
  return { result: 'unclear', error, retryAfterMs: null };
}

export function neonProvider(options: NeonOptions): Provider {
  const { project, timeoutMs } = options;
  const call = neonCalls(options);
  const root = `/projects/${encodeURIComponent(project)}`;

  async function get<T>(path: string, schema: z.ZodType<T>, signal: AbortSignal) {
    return read(await call({ method: 'GET', path: root + path, signal }), schema);
  }

  /** Reads pages until `look` has seen enough. */
  async function pages<P extends { pagination?: { cursor?: string | undefined } | undefined }>(
    path: string,
    schema: z.ZodType<P>,
    signal: AbortSignal,
    look: (page: P) => boolean,
  ): Promise<Answer<null>> {
    let cursor: string | undefined;
    for (let count = 0; count < mostPages; count += 1) {
      const from = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await get(`${path}?limit=${pageSize}${from}`, schema, signal);
      if (answer.result !== 'ok') return answer;
      const next = answer.value.pagination?.cursor;
      if (look(answer.value) || next === undefined || next === cursor) return ok(null);
      cursor = next;
    }
    return no(`more than ${mostPages} pages`, true);
  }

  async function branches(signal: AbortSignal): Promise<Answer<readonly NeonBranch[]>> {
    const all: NeonBranch[] = [];
    const answer = await pages('/branches', branchPage, signal, (each) => {
      all.push(...each.branches);
      return each.branches.length < pageSize;
    });
    return answer.result === 'ok' ? ok(all) : answer;
  }

  function request(change: Change, all: readonly NeonBranch[]) {
    const named = (name: string | undefined) => all.find((each) => each.name === name);
    const branch = named(change.branch);
    const at = `${root}/branches/${encodeURIComponent(branch?.id ?? '')}`;
    switch (change.action) {
      case 'create': {
        const parent = named(change.parent);
        if (branch) return `there is a branch "${change.branch}" already`;
        if (!parent) return `there is no branch "${change.parent}" to copy`;
        const body = { branch: { name: change.branch, parent_id: parent.id } };
        return { method: 'POST', path: `${root}/branches`, body } as const;
      }
      case 'reset': {
        if (!branch) return `there is no branch "${change.branch}"`;
        if (branch.parent_id === undefined) return `"${change.branch}" is a root: it has no parent`;
        const kept = change.keepAs !== undefined && { preserve_under_name: change.keepAs };
        const body = { source_branch_id: branch.parent_id, ...kept };
        return { method: 'POST', path: `${at}/restore`, body } as const;
      }
      case 'delete':
        if (!branch) return `there is no branch "${change.branch}"`;
        return { method: 'DELETE', path: at } as const;
      default:
        return change.action satisfies never;
    }
  }

  /** One limit for all calls of one question. */
  const within = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);

  /** A branch's state of today, not of what an operation says. */
  const isReady = (branch: NeonBranch | undefined) =>
    branch?.current_state === 'ready' && !branch.pending_state;

  return {
    name: `neon:${project}`,
    timeoutMs,
    // Its own rules may be stricter; what breaks them ends as `not_issued`.
    nameFault(name) {
      if (name === '') return 'a name is not empty';
      if (name.length > longestName) return `a name has at most ${longestName} characters`;
      return /[\p{Control}\p{Surrogate}]/u.test(name) ? 'a name is one line of text' : undefined;
    },

    async list(signal) {
      const answer = await branches(within(signal));
      if (answer.result !== 'ok') return answer;
      const names = new Map(answer.value.map(({ id, name }) => [id, name]));
      return ok(
        answer.value.map((branch): Branch => {
          const parent = branch.parent_id;
          const isRoot = parent === undefined;
          return {
            name: branch.name,
            parent: isRoot ? null : (names.get(parent) ?? parent),
            state: isReady(branch) ? 'ready' : 'busy',
            fixed: branch.protected ? 'protected' : isRoot ? 'root' : null,
            hasChildren: answer.value.some((each) => each.parent_id === branch.id),
          };
        }),
      );
    },

    // The newest of the project: it is newer than all of the branch, and one question.
    async mark(_change, signal) {
      const answer = await get('/operations?limit=1', operationPage, within(signal));
      return answer.result === 'ok' ? ok(answer.value.operations[0]?.id ?? null) : answer;
    },

    async issue(change, latest) {
      const known = await branches(AbortSignal.timeout(timeoutMs));
      // Nothing but reads so far.
      if (known.result !== 'ok') return no(known.error, true);
      const made = request(change, known.value);
      if (typeof made === 'string') return no(made, false);
      const answer = read(await call({ ...made, latest }), changed);
      return answer.result === 'ok' ? ok(answer.value.operations.map(shown)) : answer;
    },

    async since(change, mark, signal) {
      const limit = within(signal);
      const known = await branches(limit);
      if (known.result !== 'ok') return known;
      const branch = known.value.find(({ name }) => name === change.branch);
      const newer: NeonOperation[] = [];
      let met = mark === null;
      const answer = await pages('/operations', operationPage, limit, ({ operations }) => {
        const at = operations.findIndex(({ id }) => id === mark);
        newer.push(...(at < 0 ? operations : operations.slice(0, at)));
        if (at >= 0) met = true;
        return at >= 0 || operations.length < pageSize;
      });
      if (answer.result !== 'ok') return answer;
      if (!met) return no(`operation ${mark} is not in the list any more`, true);
      // A branch that is gone took its name along; its operations are what remains.
      const isOurs = ({ branch_id: id, action }: NeonOperation) =>
        !spontaneous.includes(action) &&
        (branch ? id === branch.id : change.action === 'delete' && /delete/.test(action));
      return ok(newer.filter(isOurs).toReversed().map(shown));
    },

    async poll(change, operations, signal) {
      const limit = within(signal);
      const rows: ExternalOperation[] = [];
      for (const known of operations) {
        const path = `/operations/${encodeURIComponent(known.id)}`;
        const isOver = [...ended, ...lost].includes(known.status);
        const answer = isOver ? undefined : await get(path, operationAnswer, limit);
        if (answer && answer.result !== 'ok') return answer;
        rows.push(answer ? shown(answer.value.operation) : known);
      }
      const progress = (state: Progress['state']) => ok({ operations: rows, state });
      if (rows.some(({ status }) => lost.includes(status))) return progress('failed');
      if (!rows.every(({ status }) => ended.includes(status))) return progress('going');
      const known = await branches(limit);
      if (known.result !== 'ok') return known;
      const branch = known.value.find(({ name }) => name === change.branch);
      if (change.action === 'delete') return progress(branch ? 'going' : 'done');
      return progress(isReady(branch) ? 'done' : 'going');
    },

    close: async () => undefined,
  };
}
