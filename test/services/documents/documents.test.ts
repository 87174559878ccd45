// Documents as people have them, and who may do what with them.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Place } from '../../../persistence/documents.ts';
import { hashOf } from '../../../services/documents/content.ts';
import {
  bringBack,
  createDocument,
  grant,
  remove,
  rename,
  revoke,
  showDocument,
  showDocuments,
  showGrants,
} from '../../../services/documents/documents.ts';
import {
  nameVersion,
  restoreVersion,
  showRevision,
  showRevisions,
} from '../../../services/documents/revisions.ts';
import { openSaves } from '../../../services/documents/save.ts';
import { grantTo, newDocument, textOf, told, typed, writerOf } from '../../support/documents.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const db = () => database().db;
const ada = (id: string) => ({ id, actor: 'ada' });

const made = (more: Partial<Parameters<typeof createDocument>[1]> = {}) =>
  createDocument(db(), {
    kind: 'record',
    name: 'notes',
    content: typed('x'),
    actor: 'ada',
    ...more,
  });

describe('creating', () => {
  it('makes version 1, owned by who asked', async () => {
    const answer = await made();
    expect(answer).toMatchObject({
      outcome: 'created',
      document: {
        kind: 'record',
        name: 'notes',
        owner: 'ada',
        access: 'owner',
        version: 1,
        hash: hashOf(typed('x')),
        content: typed('x'),
        updatedBy: 'ada',
        deletedAt: null,
      },
    });
  });

  it('of the same under the same id, sent again, is the same document', async () => {
    const id = randomUUID();
    await made({ id });
    await openSaves(database()).save(writerOf(id).save(1, 'y'));
    expect(await made({ id })).toMatchObject({ outcome: 'replayed', document: { version: 2 } });
  });

  it('of something else under an id that is taken is refused', async () => {
    const id = randomUUID();
    await made({ id });
    expect(await made({ id, content: typed('z') })).toEqual({ outcome: 'taken' });
    expect(await made({ id, actor: 'eve' })).toEqual({ outcome: 'taken' });
    expect(await made({ id, kind: 'spreadsheet', content: { cells: {} } })).toEqual({
      outcome: 'taken',
    });
  });

  it('is refused for a kind that nobody knows and for a content of another kind', async () => {
    expect(await made({ kind: 'poem' })).toMatchObject({ problems: [{ code: 'unknown_kind' }] });
    expect(await made({ kind: 'spreadsheet' })).toMatchObject({
      problems: [{ code: 'wrong_shape', pointer: '/attributes' }],
    });
  });
});

describe('listing', () => {
  it('goes page by page through what somebody owns or was granted, and nothing else', async () => {
    const actor = randomUUID();
    // Ids of any version: the order is that of their making.
    const id = 'ffffffff-0000-4000-8000-000000000000';
    await made({ id, actor });
    const own = [
      id,
      await newDocument(database(), { owner: actor }),
      await newDocument(database(), { owner: actor }),
    ];
    const granted = await newDocument(database());
    await grantTo(database(), granted, actor, 'reader');
    const gone = await newDocument(database(), { owner: actor });
    await remove(db(), { id: gone, actor });

    const seen: string[] = [];
    let pages = 0;
    for (let behind: Place | undefined; ; pages += 1) {
      const page = await showDocuments(db(), { actor, limit: 2, ...(behind && { behind }) });
      seen.push(...page.documents.map(({ id }) => id));
      if (page.next === null) break;
      behind = page.next;
    }
    expect(seen).toEqual([...own, granted].toReversed());
    expect(pages).toBe(1);
    const trash = await showDocuments(db(), { actor, limit: 2, deleted: true });
    expect(trash.documents.map(({ id }) => id)).toEqual([gone]);
  });
});

describe('renaming', () => {
  it('leaves the version alone, so that no save becomes stale by it', async () => {
    const id = await newDocument(database());
    expect(await rename(db(), { ...ada(id), name: 'better' })).toEqual({ outcome: 'renamed' });
    const outcome = await openSaves(database()).save(writerOf(id).save(1, 'A'));
    expect(told(outcome)).toBe('saved 2 of 2');
    const read = await showDocument(db(), ada(id));
    expect(read).toMatchObject({ document: { name: 'better', version: 2 } });
  });
});

describe('deleting', () => {
  it('keeps everything, and bringing back is exact', async () => {
    const id = await newDocument(database(), { text: 'x' });
    await openSaves(database()).save(writerOf(id).save(1, 'A'));
    const before = await showDocument(db(), ada(id));
    expect(await remove(db(), ada(id))).toEqual({ outcome: 'deleted' });
    expect(await showDocument(db(), ada(id))).toMatchObject({ outcome: 'gone', by: 'ada' });
    expect(await remove(db(), ada(id))).toMatchObject({ outcome: 'gone', by: 'ada' });
    expect(await bringBack(database(), ada(id))).toEqual({ outcome: 'there' });
    expect(await bringBack(database(), ada(id))).toEqual({ outcome: 'there' });
    expect(await showDocument(db(), ada(id))).toEqual(before);
  });

  it('at a version that is not the current one does not happen', async () => {
    const id = await newDocument(database());
    await openSaves(database()).save(writerOf(id).save(1, 'A'));
    expect(await remove(db(), { ...ada(id), version: 1 })).toEqual({
      outcome: 'moved',
      version: 2,
    });
    expect(await remove(db(), { ...ada(id), version: 2 })).toEqual({ outcome: 'deleted' });
  });
});

describe('revisions', () => {
  it('are listed from the newest on, page by page, with who wrote them', async () => {
    const id = await newDocument(database());
    const [me, bob] = [writerOf(id), writerOf(id, 'bob')];
    await grantTo(database(), id, 'bob', 'editor');
    const { save } = openSaves(database());
    await save(me.save(1, 'A'));
    await save(bob.save(2, 'AB'));
    const first = await showRevisions(db(), { ...ada(id), limit: 2 });
    expect(first).toMatchObject({
      revisions: [
        { version: 3, by: 'bob', writer: bob.writer, source: { type: 'person' } },
        { version: 2, by: 'ada', writer: me.writer },
      ],
      next: 2,
    });
    expect(await showRevisions(db(), { ...ada(id), limit: 2, before: 2 })).toMatchObject({
      revisions: [{ version: 1, by: 'ada', saveId: null }],
      next: null,
    });
    expect(await showRevision(db(), { ...ada(id), version: 2 })).toMatchObject({
      text: JSON.stringify(typed('A')),
    });
    expect(await showRevision(db(), { ...ada(id), version: 9 })).toEqual({
      outcome: 'no_revision',
    });
  });

  it('can be named', async () => {
    const id = await newDocument(database());
    await nameVersion(db(), { ...ada(id), version: 1, name: 'as sent' });
    expect(await showRevision(db(), { ...ada(id), version: 1 })).toMatchObject({
      revision: { name: 'as sent' },
    });
    expect(await nameVersion(db(), { ...ada(id), version: 9, name: 'no' })).toEqual({
      outcome: 'no_revision',
    });
  });

  it('come back as a new version, by the same compare-and-swap', async () => {
    const id = await newDocument(database(), { text: 'x' });
    const me = writerOf(id);
    const { save } = openSaves(database());
    await save(me.save(1, 'A'));
    const given = { document: id, actor: 'ada', base: 2, save: me.save(2, '').save, version: 1 };
    expect(await restoreVersion(database(), { ...given, base: 1 })).toMatchObject({
      outcome: 'conflict',
    });
    expect(await restoreVersion(database(), given)).toMatchObject({ outcome: 'saved', version: 3 });
    expect(await restoreVersion(database(), given)).toMatchObject({ outcome: 'replayed' });
    expect(await textOf(database(), id)).toBe('x');
    expect(await showRevision(db(), { ...ada(id), version: 3 })).toMatchObject({
      revision: { restoredFrom: 1 },
    });
    expect(await restoreVersion(database(), { ...given, version: 9 })).toEqual({
      outcome: 'no_revision',
    });
  });
});

describe('access', () => {
  const save = (id: string, actor: string) =>
    openSaves(database()).save(writerOf(id, actor).save(1, 'A'));
  const acts: Readonly<Record<string, (id: string, actor: string) => Promise<unknown>>> = {
    read: (id, actor) => showDocument(db(), { id, actor }),
    'list revisions': (id, actor) => showRevisions(db(), { id, actor, limit: 9 }),
    'read a revision': (id, actor) => showRevision(db(), { id, actor, version: 1 }),
    save,
    rename: (id, actor) => rename(db(), { id, actor, name: 'x' }),
    'name a revision': (id, actor) => nameVersion(db(), { id, actor, version: 1, name: 'x' }),
    'restore a revision': (id, actor) =>
      restoreVersion(database(), { document: id, actor, base: 1, save: null, version: 1 }),
    delete: (id, actor) => remove(db(), { id, actor }),
    'bring back': (id, actor) => bringBack(database(), { id, actor }),
    'see grants': (id, actor) => showGrants(db(), { id, actor }),
    grant: (id, actor) => grant(db(), { id, actor, grantee: 'kim', access: 'editor' }),
    revoke: (id, actor) => revoke(db(), { id, actor, grantee: 'kim' }),
  };
  const reads = ['read', 'list revisions', 'read a revision'];
  const edits = ['save', 'rename', 'name a revision', 'restore a revision'];
  const denied = ['missing', 'read_only', 'owner_only'];

  const expected = (actor: string, act: string): string => {
    if (actor === 'eve') return 'missing';
    if (actor === 'ada' || reads.includes(act)) return 'allowed';
    if (edits.includes(act)) return actor === 'bob' ? 'allowed' : 'read_only';
    return 'owner_only';
  };

  it('is what the table says, for each act and each principal', async () => {
    const cells: string[] = [];
    const wanted: string[] = [];
    for (const actor of ['ada', 'bob', 'rae', 'eve']) {
      for (const [name, act] of Object.entries(acts)) {
        const id = await newDocument(database());
        await grantTo(database(), id, 'bob', 'editor');
        await grantTo(database(), id, 'rae', 'reader');
        const { outcome } = (await act(id, actor)) as { outcome: string };
        cells.push(`${actor}: ${name}: ${denied.includes(outcome) ? outcome : 'allowed'}`);
        wanted.push(`${actor}: ${name}: ${expected(actor, name)}`);
      }
    }
    expect(cells).toEqual(wanted);
    expect(cells).toHaveLength(48);
  });

  it('ends when it is taken away', async () => {
    const id = await newDocument(database());
    const granted = await grant(db(), { ...ada(id), grantee: 'bob', access: 'reader' });
    expect(granted).toMatchObject({ grants: [{ grantee: 'bob', access: 'reader' }] });
    expect(await save(id, 'bob')).toEqual({ outcome: 'read_only' });
    await grant(db(), { ...ada(id), grantee: 'bob', access: 'editor' });
    expect(await save(id, 'bob')).toMatchObject({ outcome: 'saved' });
    expect(await revoke(db(), { ...ada(id), grantee: 'bob' })).toMatchObject({ grants: [] });
    expect(await save(id, 'bob')).toEqual({ outcome: 'missing' });
  });

  it('is not granted to the owner, who has it', async () => {
    const id = await newDocument(database());
    expect(await grant(db(), { ...ada(id), grantee: 'ada', access: 'reader' })).toEqual({
      outcome: 'own_document',
    });
  });
});
