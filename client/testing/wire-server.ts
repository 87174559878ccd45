// The server of documents in memory, exactly as it crosses the wire: compare-and-swap on an integer
// version, receipts by save id, predecessors, abandoned saves, revisions. kinds/wire.ts has the
// shapes. scripted-server.ts puts faults in front of it.

import { equal, type Json } from '../../kinds/json.ts';
import type { Kind } from '../../kinds/kind.ts';
import {
  type Access,
  type Conflict,
  type DeletedEvent,
  type DocumentView,
  largestBody,
  type MissingEvent,
  type SaveAnswer,
  type VersionEvent,
} from '../../kinds/wire.ts';

export interface Revision {
  readonly version: number;
  readonly content: Json;
  readonly by: string;
  readonly writer: string | null;
  readonly saveId: string | null;
  /** The version that it was made from, as the save said. */
  readonly expected: number;
  readonly after: readonly string[];
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface WireRequest {
  readonly user: string | null;
  readonly method: string;
  /** Without the server's address. */
  readonly path: string;
  readonly body: string | undefined;
}

export interface Stored {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly owner: string;
  readonly revisions: Revision[];
  /** Null: overtaken or abandoned, and never to take effect. */
  readonly saves: Map<string, number | null>;
  readonly access: Map<string, Access>;
  deleted: boolean;
}

type Announce = (
  event: VersionEvent | DeletedEvent | MissingEvent,
  type: 'version' | 'deleted' | 'missing',
) => void;

export interface WireServerOptions {
  readonly kinds: readonly Kind[];
  /** What the server makes of a content before it stores it. */
  readonly normalise?: (content: Json) => Json;
  readonly now: () => number;
}

/** A document as it is made. */
export interface Seed {
  readonly id: string;
  readonly kind: string;
  readonly content: Json;
  readonly owner: string;
  readonly name?: string;
}

const problem = (status: number, code: string, more: object = {}): Reply => ({
  status,
  body: { type: `/problems/${code}`, title: code, status, code, detail: code, ...more },
});

export function wireServer({ kinds, normalise = (it) => it, now }: WireServerOptions) {
  const documents = new Map<string, Stored>();
  const announcers = new Set<Announce>();
  const at = () => new Date(now()).toISOString();
  const current = (stored: Stored): Revision => {
    const last = stored.revisions.at(-1);
    if (!last) throw new Error('A document has a revision.');
    return last;
  };
  const announce: Announce = (event, type) => {
    for (const each of announcers) each(event, type);
  };

  const accessOf = (stored: Stored, user: string): Access | undefined =>
    stored.owner === user ? 'owner' : stored.access.get(user);

  const view = (stored: Stored, user: string): DocumentView => {
    const { version, content, by } = current(stored);
    const { id, kind, name, owner } = stored;
    return {
      ...{ id, kind, name, owner, version, content, hash: `hash-${version}`, deletedAt: null },
      access: accessOf(stored, user) ?? 'reader',
      createdAt: at(),
      updatedAt: at(),
      updatedBy: by,
    };
  };

  const commit = (stored: Stored, revision: Omit<Revision, 'version'>): number => {
    const version = current(stored).version + 1;
    stored.revisions.push({ ...revision, version });
    if (revision.saveId !== null) stored.saves.set(revision.saveId, version);
    for (const id of revision.after) if (!stored.saves.has(id)) stored.saves.set(id, null);
    const { saveId, writer, by } = revision;
    announce({ id: stored.id, version, saveId, writer, by, at: at() }, 'version');
    return version;
  };

  const conflict = (stored: Stored, expected: number): Conflict => {
    const { version, by, writer, saveId, content } = current(stored);
    const base = stored.revisions.find((each) => each.version === expected);
    const contentUnchanged = JSON.stringify(base?.content) === JSON.stringify(content);
    return { version, at: at(), by, writer, saveId, baseKnown: !!base, contentUnchanged };
  };

  const save = (stored: Stored, user: string, text: string): Reply => {
    if (text.length > largestBody) return problem(413, 'body_too_large', { limit: largestBody });
    const { saveId, writer, expectedVersion, content, after = [] } = JSON.parse(text);
    if (!Number.isInteger(expectedVersion)) return problem(428, 'expectation_required');
    const wrong = kinds.find(({ id }) => id === stored.kind)?.check(content) ?? [];
    const errors = wrong.map((each) => ({ ...each, pointer: `/content${each.pointer}` }));
    const mayWrite = accessOf(stored, user) !== 'reader';
    if (errors.length > 0 && mayWrite) return problem(422, 'invalid_content', { errors });
    const answer = (verdict: SaveAnswer['verdict'], version: number | null): Reply => ({
      status: 200,
      body: {
        ...{ saveId, verdict, version, currentVersion: current(stored).version },
        hash: `hash-${current(stored).version}`,
        at: at(),
      } satisfies SaveAnswer,
    });
    const known = stored.saves.get(saveId);
    if (known === null) return answer('superseded', null);
    if (known !== undefined) {
      const made = stored.revisions.find((each) => each.version === known)?.content;
      if (!equal(made, normalise(content))) return problem(422, 'save_id_reused');
      return answer(known === current(stored).version ? 'replayed' : 'superseded', known);
    }
    if (!mayWrite) return problem(403, 'read_only');
    const last = current(stored);
    const follows =
      last.version === expectedVersion ||
      (last.saveId !== null && after.includes(last.saveId) && last.writer === writer);
    if (!follows) {
      return problem(409, 'version_conflict', { conflict: conflict(stored, expectedVersion) });
    }
    const made = { content: normalise(content), by: user, writer, saveId };
    return answer('saved', commit(stored, { ...made, expected: expectedVersion, after }));
  };

  const abandon = (stored: Stored, text: string): Reply => {
    const { saveIds } = JSON.parse(text) as { saveIds: readonly string[] };
    for (const id of saveIds) if (!stored.saves.has(id)) stored.saves.set(id, null);
    const versions = saveIds.map((saveId) => ({ saveId, version: stored.saves.get(saveId) }));
    return {
      status: 200,
      body: {
        abandoned: versions.filter(({ version }) => version === null).map(({ saveId }) => saveId),
        committed: versions.filter(({ version }) => version !== null),
      },
    };
  };

  const create = ({ id, kind, content, owner, name = id }: Seed): Stored => {
    const first = { version: 1, content, by: owner, writer: null, saveId: null };
    const stored: Stored = {
      ...{ id, kind, name, owner },
      revisions: [{ ...first, expected: 0, after: [] }],
      saves: new Map(),
      access: new Map(),
      deleted: false,
    };
    documents.set(id, stored);
    return stored;
  };

  const route = (stored: Stored, user: string, request: WireRequest, rest: string): Reply => {
    const { method, body = '{}' } = request;
    if (method === 'GET' && rest === '') return { status: 200, body: view(stored, user) };
    const revision = /^\/revisions\/(\d+)$/.exec(rest)?.[1];
    if (method === 'GET' && revision !== undefined) {
      const found = stored.revisions.find(({ version }) => version === Number(revision));
      return found ? { status: 200, body: found } : problem(404, 'revision_not_found');
    }
    // What was saved before the right was taken away keeps its answer.
    if (method === 'PUT' && rest === '') return save(stored, user, body);
    if (method === 'POST' && rest === '/abandon') return abandon(stored, body);
    return problem(405, 'method_not_allowed');
  };

  return {
    create,
    answer(request: WireRequest): Reply {
      const { user, method, path, body } = request;
      if (user === null) return problem(401, 'unauthorized');
      if (method === 'POST' && path === '/v1/documents') {
        const seed = JSON.parse(body ?? '{}') as Omit<Seed, 'owner'>;
        const known = documents.get(seed.id) ?? create({ ...seed, owner: user });
        return { status: 201, body: view(known, user) };
      }
      const [, id = '', rest = ''] = /^\/v1\/documents\/([^/]+)(.*)$/.exec(path) ?? [];
      const stored = documents.get(decodeURIComponent(id));
      if (!stored || !accessOf(stored, user)) return problem(404, 'document_not_found');
      if (stored.deleted) return problem(410, 'document_gone');
      return route(stored, user, request, rest);
    },
    /** A version by somebody else. */
    saveAs(id: string, by: string, content: Json): number {
      const stored = this.stored(id);
      const expected = current(stored).version;
      const foreign = { writer: `writer-of-${by}`, saveId: null, expected, after: [] };
      return commit(stored, { content, by, ...foreign });
    },
    remove(id: string, by: string) {
      this.stored(id).deleted = true;
      announce({ id, at: at(), by }, 'deleted');
    },
    grant(id: string, user: string, access: Access) {
      this.stored(id).access.set(user, access);
    },
    /** Takes a right away. Who has the document in a stream is told that it is missing. */
    revoke(id: string, user: string) {
      this.stored(id).access.delete(user);
      announce({ id }, 'missing');
    },
    sees(id: string, user: string | null): boolean {
      const stored = documents.get(id);
      return stored !== undefined && user !== null && accessOf(stored, user) !== undefined;
    },
    stored(id: string): Stored {
      const stored = documents.get(id);
      if (!stored) throw new Error(`There is no document ${id}.`);
      return stored;
    },
    current: (id: string): Revision => current(documents.get(id) as Stored),
    ids: () => [...documents.keys()],
    onAnnounce(run: Announce): () => void {
      announcers.add(run);
      return () => announcers.delete(run);
    },
  };
}

export type WireServer = ReturnType<typeof wireServer>;
