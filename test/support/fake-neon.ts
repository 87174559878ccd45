// Neon's API for tests, in memory, with a journal of every request. What a test wants to go wrong
// it says by a rule for one kind of request; what an operation goes through, by a script.
//
// - The truth is here: which requests were accepted, whatever the caller was told of it.
// - An operation moves on by one word each time that it is asked for. The last word stays.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Kind = 'branches' | 'create' | 'restore' | 'delete' | 'operations' | 'operation';

export interface Entry {
  readonly kind: Kind | 'other';
  readonly method: string;
  readonly path: string;
  /** The name of the branch that the path is of. */
  readonly branch: string | undefined;
  /** It changed something, or will. */
  accepted: boolean;
  /** Null: the caller never got an answer. */
  status: number | null;
}

interface Said {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
/** `lost`: applied, and the answer never comes. `cut`: not applied, and no answer either. */
type Then = Said | 'lost' | 'cut' | 'hang' | 'applied, then hang';

interface FakeBranch {
  readonly id: string;
  readonly name: string;
  readonly parent_id?: string;
  readonly protected: boolean;
  /** How often it was listed since its last operation ended. */
  listed: number;
}
interface FakeOperation {
  readonly id: string;
  readonly branch_id: string;
  readonly action: string;
  readonly words: string[];
  failures: number;
}

export interface FakeNeon {
  readonly url: string;
  readonly key: string;
  readonly project: string;
  readonly journal: readonly Entry[];
  /** What new operations go through. */
  script: readonly string[];
  /** When a branch says that it is ready, beside its operation. */
  readiness: 'with' | 'before' | 'after';
  rule(kind: Kind, then: Then, times?: number): void;
  /** Takes the rules for a kind back. */
  forget(kind: Kind): void;
  /** Calls at each request, once it is in the journal and before it is answered. */
  onRequest: (entry: Entry) => void;
  addBranch(name: string, parent?: string, isProtected?: boolean): void;
  /** An operation that nobody here asked for. */
  addOperation(branch: string, action: string, words: readonly string[]): string;
  names(): readonly string[];
  /** Requests that change something and were accepted, or may have been. */
  issued(): readonly Entry[];
  close(): Promise<void>;
}

export const ownError = (message: string, code = '') => JSON.stringify({ code, message });

function kindOf(method: string, path: string): Kind | 'other' {
  if (/\/restore$/.test(path)) return 'restore';
  if (/\/branches$/.test(path)) return method === 'POST' ? 'create' : 'branches';
  if (/\/branches\/[^/]+$/.test(path) && method === 'DELETE') return 'delete';
  if (/\/operations$/.test(path)) return 'operations';
  return /\/operations\/[^/]+$/.test(path) ? 'operation' : 'other';
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
}

export async function openFakeNeon(): Promise<FakeNeon> {
  const key = 'napi_secret_key';
  // Also the name of the provider, so that several can share a database.
  const project = `quiet-field-${randomBytes(4).toString('hex')}`;
  const journal: Entry[] = [];
  const rules: { readonly kind: Kind; readonly then: Then; times: number }[] = [];
  const branches: FakeBranch[] = [];
  const operations: FakeOperation[] = [];
  let count = 0;

  const id = (what: string) => {
    count += 1;
    return `${what}-${String(count).padStart(4, '0')}`;
  };
  const wordOf = ({ words }: FakeOperation) => words[0] ?? 'finished';
  const isBusy = (branch: FakeBranch) =>
    operations.some((each) => {
      const isOver = ['finished', 'skipped', 'error', 'cancelled'].includes(wordOf(each));
      return each.branch_id === branch.id && !isOver;
    });
  function shownBranch(branch: FakeBranch) {
    const { listed: _, ...rest } = branch;
    const isLate = self.readiness === 'after' && branch.listed < 3;
    if (!isBusy(branch)) branch.listed += 1;
    const state = self.readiness !== 'before' && (isBusy(branch) || isLate) ? 'resetting' : 'ready';
    return { ...rest, current_state: state, ...(state !== 'ready' && { pending_state: 'ready' }) };
  }
  const shown = (operation: FakeOperation) => ({
    id: operation.id,
    project_id: project,
    branch_id: operation.branch_id,
    action: operation.action,
    status: wordOf(operation),
    failures_count: operation.failures,
    created_at: '2026-12-01T09:00:00Z',
    updated_at: '2026-12-01T09:00:01Z',
    total_duration_ms: 100,
  });
  function begin(branch: FakeBranch, action: string, words = self.script): FakeOperation {
    const operation = {
      id: id('op'),
      branch_id: branch.id,
      action,
      words: [...words],
      failures: 0,
    };
    operations.unshift(operation);
    branch.listed = 0;
    return operation;
  }
  const json = (status: number, value: unknown): Said => ({ status, body: JSON.stringify(value) });
  const refuse = (status: number, message: string): Said => ({ status, body: ownError(message) });

  function change(kind: Kind, branch: FakeBranch | undefined, body: Record<string, unknown>): Said {
    if (kind === 'create') {
      const { name, parent_id: parent } = body['branch'] as { name: string; parent_id: string };
      const made = { id: id('br'), name, parent_id: parent, protected: false, listed: 0 };
      branches.push(made);
      return json(201, { branch: made, operations: [shown(begin(made, 'create_branch'))] });
    }
    if (!branch) return refuse(404, 'branch not found');
    if (branch.protected) return refuse(422, 'the branch is protected');
    const hasChildren = branches.some((each) => each.parent_id === branch.id);
    if (kind === 'delete') {
      if (hasChildren) return refuse(422, 'the branch has children');
      branches.splice(branches.indexOf(branch), 1);
      return json(200, { branch, operations: [shown(begin(branch, 'delete_timeline'))] });
    }
    if (branch.parent_id === undefined) return refuse(422, 'a root branch cannot be reset');
    const kept = body['preserve_under_name'];
    if (hasChildren && kept === undefined) return refuse(422, 'preserve_under_name is required');
    if (typeof kept === 'string') {
      branches.push({ ...branch, id: id('br'), name: kept, listed: 9 });
    }
    return json(200, { branch, operations: [shown(begin(branch, 'create_branch'))] });
  }

  function answer(kind: Kind | 'other', path: string, body: Record<string, unknown>): Said {
    const [, , , , , , last = ''] = path.split('/');
    switch (kind) {
      case 'branches':
        return json(200, { branches: branches.map(shownBranch), pagination: {} });
      case 'operations':
        return json(200, { operations: operations.map(shown), pagination: { cursor: 'end' } });
      case 'operation': {
        const found = operations.find((each) => each.id === last);
        if (!found) return refuse(404, 'operation not found');
        if (found.words.length > 1) found.words.shift();
        if (wordOf(found) === 'failed') found.failures += 1;
        return json(200, { operation: shown(found) });
      }
      case 'create':
      case 'restore':
      case 'delete':
        return change(
          kind,
          branches.find((each) => each.id === last),
          body,
        );
      default:
        return refuse(404, 'no such path');
    }
  }

  function takeRule(kind: Kind | 'other'): Then | undefined {
    const rule = rules.find((each) => each.kind === kind && each.times > 0);
    if (rule) rule.times -= 1;
    return rule?.then;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: asked = '' } = request;
    const path = decodeURI(asked.split('?')[0] ?? '');
    const kind = kindOf(method, path);
    const body = await bodyOf(request);
    const [, at] = /\/branches\/([^/]+)/.exec(path) ?? [];
    const branch = branches.find((each) => each.id === at)?.name;
    const entry: Entry = { kind, method, path, branch, accepted: false, status: null };
    journal.push(entry);
    const isChange = ['create', 'restore', 'delete'].includes(kind);
    const isKnown = request.headers.authorization === `Bearer ${key}`;
    const then = isKnown ? takeRule(kind) : refuse(401, 'the key is not valid');
    const applies = then === undefined || then === 'lost' || then === 'applied, then hang';
    const said = applies ? answer(kind, path, body) : undefined;
    entry.accepted = isChange && said !== undefined && said.status < 300;
    const given = typeof then === 'object' ? then : said;
    const isSilent = typeof then === 'string';
    if (!isSilent && given) entry.status = given.status;
    self.onRequest(entry);
    if (then === 'hang' || then === 'applied, then hang') return;
    if (isSilent || !given) return void request.socket.destroy();
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(given.body ?? '');
  }

  const server = createServer((request, response) => void serve(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const self: FakeNeon = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`,
    key,
    project,
    journal,
    script: ['scheduling', 'running', 'finished'],
    readiness: 'with',
    onRequest: () => undefined,
    rule: (kind, then, times = 1) => void rules.push({ kind, then, times }),
    forget(kind) {
      for (const rule of rules) if (rule.kind === kind) rule.times = 0;
    },
    addBranch(name, parent, isProtected = false) {
      const source = branches.find((each) => each.name === parent);
      const from = source && { parent_id: source.id };
      branches.push({ id: id('br'), name, ...from, protected: isProtected, listed: 9 });
    },
    addOperation(name, action, words) {
      const branch = branches.find((each) => each.name === name);
      if (!branch) throw new Error(`there is no branch ${name}`);
      return begin(branch, action, words).id;
    },
    names: () => branches.map(({ name }) => name),
    issued: () =>
      journal.filter(({ kind, accepted, status }) => {
        const isChange = ['create', 'restore', 'delete'].includes(kind);
        return isChange && (accepted || status === null);
      }),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return self;
}
