// What each save is told, one after the other.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sqlstateOf } from '../../../persistence/sqlstate.ts';
import { bringBack, remove } from '../../../services/documents/documents.ts';
import { abandon, openSaves, type Save } from '../../../services/documents/save.ts';
import {
  chain,
  documentModel,
  interleavings,
  orders,
  type Step,
  sentAgain,
} from '../../support/document-model.ts';
import {
  grantTo,
  historyFindings,
  newDocument,
  revisionsOf,
  textOf,
  told,
  typed,
  writerOf,
} from '../../support/documents.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const save = (each: Save) => openSaves(database()).save(each);

async function startDocument() {
  const document = await newDocument(database());
  await grantTo(database(), document, 'bob', 'editor');
  const [mine, foreign] = [writerOf(document), writerOf(document, 'bob')];
  return { document, mine, foreign };
}

describe('a save', () => {
  it('at the version that it expects makes the next one', async () => {
    const { document, mine } = await startDocument();
    const outcome = await save(mine.save(1, 'A'));
    expect(outcome).toMatchObject({ outcome: 'saved', version: 2, currentVersion: 2 });
    expect(await textOf(database(), document)).toBe('A');
    expect(await historyFindings(database(), document)).toEqual([]);
  });

  it('at another version is told who was there, and writes nothing', async () => {
    const { document, mine, foreign } = await startDocument();
    const theirs = foreign.save(1, 'F');
    await save(theirs);
    expect(await save(mine.save(1, 'A'))).toMatchObject({
      outcome: 'conflict',
      conflict: {
        version: 2,
        by: 'bob',
        saveId: theirs.save.id,
        writer: foreign.writer,
        baseKnown: true,
        contentUnchanged: false,
      },
    });
    expect(await revisionsOf(database(), document)).toHaveLength(2);
  });

  it('is told when the content is the one that it was made from', async () => {
    const { mine, foreign } = await startDocument();
    await save(foreign.save(1, 'F'));
    await save(foreign.save(2, ''));
    const outcome = await save(mine.save(1, 'A'));
    expect(outcome).toMatchObject({ conflict: { version: 3, contentUnchanged: true } });
  });

  it('from a version that is not there is told that nothing can be compared', async () => {
    const { document, mine } = await startDocument();
    expect(await save(mine.save(9, 'A'))).toMatchObject({ conflict: { baseKnown: false } });
    await save(mine.save(1, 'A'));
    await database()
      .db.deleteFrom('fencepost.document_revision')
      .where('version', '=', 1)
      .where('document', '=', document)
      .execute();
    expect(await save(mine.save(1, 'B'))).toMatchObject({
      conflict: { baseKnown: false, contentUnchanged: false },
    });
  });

  it('under an id that was used for another content is refused, not called a success', async () => {
    const { document, mine } = await startDocument();
    const first = mine.save(1, 'A');
    await save(first);
    expect(await save({ ...first, content: typed('B') })).toEqual({ outcome: 'reused' });
    expect(await textOf(database(), document)).toBe('A');
  });

  it('that names itself among those before it is invalid', async () => {
    const { mine } = await startDocument();
    const id = randomUUID();
    expect(await save(mine.save(1, 'A', { id, after: [id.toUpperCase()] }))).toMatchObject({
      outcome: 'invalid',
      problems: [{ code: 'after_itself', pointer: '/after' }],
    });
  });

  it('names the place of what no document can hold, and is stored exactly otherwise', async () => {
    const { document, mine } = await startDocument();
    const wrong = { attributes: { text: 'a\u0000' } };
    expect(await save({ ...mine.save(1, ''), content: wrong })).toMatchObject({
      outcome: 'invalid',
      problems: [{ code: 'nul', pointer: '/attributes/text' }],
    });
    const content = JSON.parse('{"attributes":{"text":"b","__proto__":{"9":1,"10":-0},"a":1e21}}');
    const text = '{"attributes":{"text":"b","__proto__":{"9":1,"10":-0},"a":1e21}}';
    await save({ ...mine.save(1, ''), content, text });
    const { rows } = await sql<{ content: string }>`
      select content from fencepost.document_revision
      where document = ${document} and version = 2`.execute(database().db);
    expect(rows).toEqual([{ content: text }]);
  });

  it('of nobody who may edit changes nothing', async () => {
    const { document } = await startDocument();
    await grantTo(database(), document, 'rae', 'reader');
    expect(await save(writerOf(document, 'rae').save(1, 'R'))).toEqual({ outcome: 'read_only' });
    expect(await save(writerOf(document, 'eve').save(1, 'E'))).toEqual({ outcome: 'missing' });
    expect(await save(writerOf(randomUUID()).save(1, 'N'))).toEqual({ outcome: 'missing' });
    expect(await textOf(database(), document)).toBe('');
  });

  it('of nonsense into a document of somebody else finds no document', async () => {
    const { document } = await startDocument();
    const nonsense = { ...writerOf(document, 'eve').save(1, ''), content: 'nonsense' };
    expect(await save(nonsense)).toEqual({ outcome: 'missing' });
  });

  it('into a deleted document is told since when it is gone, and by whom', async () => {
    const { document, mine } = await startDocument();
    await remove(database().db, { id: document, actor: 'ada' });
    expect(await save(mine.save(1, 'A'))).toMatchObject({ outcome: 'gone', by: 'ada' });
    await bringBack(database(), { id: document, actor: 'ada' });
    expect(told(await save(mine.save(1, 'A')))).toBe('saved 2 of 2');
  });
});

describe('a save that is sent twice', () => {
  it('agrees with the model in every interleaving with a foreign save that is too', async () => {
    let histories = 0;
    for (const isStale of [false, true]) {
      for (let which = 0; which < 6; which += 1) {
        const { document, mine, foreign } = await startDocument();
        const own = sentAgain('own', () => mine.save(1, 'A'));
        const other = sentAgain('foreign', (version) => foreign.save(isStale ? 1 : version, 'F'));
        const all = interleavings(own, other);
        expect(all).toHaveLength(6);
        await expectModel(document, all[which] ?? []);
        histories += 1;
      }
    }
    expect(histories).toBe(12);
  });

  it('is its own success again, and no conflict, when its answer was lost', async () => {
    const { mine } = await startDocument();
    const lost = mine.save(1, 'A');
    await save(lost);
    const again = await save(lost);
    expect(told(again)).toBe('replayed 2 of 2');
  });

  it('says that others are on top, and with what', async () => {
    const { mine, foreign } = await startDocument();
    const lost = mine.save(1, 'A');
    await save(lost);
    const theirs = await save(foreign.save(2, 'AF'));
    const again = await save(lost);
    expect(told(again)).toBe('superseded 2 of 3');
    expect('hash' in again && 'hash' in theirs && again.hash === theirs.hash).toBe(true);
  });
});

/** Sends a history and compares each answer with the model's. */
async function expectModel(document: string, steps: readonly Step[]): Promise<void> {
  const model = documentModel();
  const names = steps.map(({ name }) => name).join(', ');
  for (const step of steps) {
    const each = step.save(model.version);
    const expected = model.send(each);
    expect(told(await save(each)), `${step.name} of ${names}`).toBe(expected);
  }
  expect(await historyFindings(database(), document), names).toEqual([]);
  expect(await revisionsOf(database(), document)).toHaveLength(model.version);
}

describe('a chain of three saves, each behind the unanswered ones before it', () => {
  const places = [0, 1, 2, 3];

  it('ends with the last one in every order of arrival, without a conflict', async () => {
    for (const order of orders([0, 1, 2])) {
      const { document, mine } = await startDocument();
      const steps = chain(mine.save);
      const inOrder = order.flatMap((i) => steps[i] ?? []);
      await expectModel(document, [...inOrder, ...steps]);
      expect(await textOf(database(), document)).toBe('ABC');
    }
    expect(orders([0, 1, 2])).toHaveLength(6);
  });

  it('never goes over a foreign save, wherever it comes between', async () => {
    let histories = 0;
    for (const order of orders([0, 1, 2])) {
      for (const place of places) {
        const { document, mine, foreign } = await startDocument();
        const steps = chain(mine.save);
        const inOrder = order.flatMap((i) => steps[i] ?? []);
        const step: Step = { name: 'f', save: (version) => foreign.save(version, 'F') };
        await expectModel(document, inOrder.toSpliced(place, 0, step));
        const texts = (await revisionsOf(database(), document)).map(({ text }) => text);
        // On top of the foreign save nothing of the chain can have come.
        expect(texts.slice(texts.indexOf('F'))).toEqual(['F']);
        histories += 1;
      }
    }
    expect(histories).toBe(24);
  });

  it('does not go over a foreign save whose id it names as one of its own', async () => {
    let histories = 0;
    for (const place of places) {
      const { document, mine, foreign } = await startDocument();
      const theirs = foreign.save(1, 'F');
      const liar: Step = {
        name: 'liar',
        save: () => mine.save(1, 'A', { after: [theirs.save.id] }),
      };
      const f: Step = { name: 'f', save: () => theirs };
      const more: Step = { name: 'more', save: (version) => foreign.save(version, 'G') };
      await expectModel(document, [liar, more, liar].toSpliced(place, 0, f));
      histories += 1;
    }
    expect(histories).toBe(4);
  });

  it('goes on where one of them never comes', async () => {
    let histories = 0;
    for (const lost of [0, 1, 2]) {
      for (const order of orders([0, 1, 2].filter((i) => i !== lost))) {
        const { document, mine } = await startDocument();
        const steps = chain(mine.save);
        await expectModel(
          document,
          order.flatMap((i) => steps[i] ?? []),
        );
        expect(await textOf(database(), document)).toBe(lost === 2 ? 'AB' : 'ABC');
        histories += 1;
      }
    }
    expect(histories).toBe(6);
  });
});

describe('an abandoned save', () => {
  const abandoned = (document: string, writer: string, saveIds: readonly string[], actor = 'ada') =>
    abandon(database(), { document, actor, writer, saveIds });

  it('that had not come yet never takes effect', async () => {
    const { document, mine } = await startDocument();
    const thrownAway = mine.save(1, 'A');
    const { id } = thrownAway.save;
    expect(await abandoned(document, mine.writer, [id])).toEqual({
      outcome: 'abandoned',
      abandoned: [id],
      committed: [],
    });
    expect(told(await save(thrownAway))).toBe('superseded null of 1');
    expect(await textOf(database(), document)).toBe('');
    expect(told(await save(mine.save(1, 'B')))).toBe('saved 2 of 2');
  });

  it('that was committed is named, with its version', async () => {
    const { document, mine } = await startDocument();
    const landed = mine.save(1, 'A');
    await save(landed);
    const unsent = randomUUID();
    expect(await abandoned(document, mine.writer, [landed.save.id, unsent])).toEqual({
      outcome: 'abandoned',
      abandoned: [unsent],
      committed: [{ saveId: landed.save.id, version: 2 }],
    });
  });

  it('is abandoned for its own writer alone', async () => {
    const { document, mine, foreign } = await startDocument();
    const theirs = foreign.save(1, 'F');
    await abandoned(document, mine.writer, [theirs.save.id]);
    expect(told(await save(theirs))).toBe('saved 2 of 2');
  });

  it('of a document that is not there is not there either', async () => {
    const { document, mine } = await startDocument();
    expect(await abandoned(document, mine.writer, [randomUUID()], 'eve')).toEqual({
      outcome: 'missing',
    });
  });
});

describe('a version', () => {
  it.each([9, 10, 2 ** 31, Number.MAX_SAFE_INTEGER])('%d comes as a number', async (version) => {
    const { document, mine } = await startDocument();
    await sql`with d as (update fencepost.document set version = ${version - 1}
      where id = ${document})
      update fencepost.document_revision set version = ${version - 1}
      where document = ${document}`.execute(database().db);
    const outcome = await save(mine.save(version - 1, 'A'));
    expect(outcome).toMatchObject({ outcome: 'saved', version, currentVersion: version });
    const stale = await save(mine.save(version - 1, 'B'));
    expect(stale).toMatchObject({ outcome: 'conflict', conflict: { version, baseKnown: true } });
  });

  it('beyond 2^53 is refused by the database', async () => {
    const { document, mine } = await startDocument();
    const last = Number.MAX_SAFE_INTEGER;
    await sql`update fencepost.document set version = ${last} where id = ${document}`.execute(
      database().db,
    );
    const refusal = await save(mine.save(last, 'A')).catch((error: unknown) => error);
    expect(sqlstateOf(refusal)).toBe('23514');
  });
});

it('a receipt is never changed', async () => {
  const { mine } = await startDocument();
  await save(mine.save(1, 'A'));
  const change = sql`update fencepost.document_save set version = 9`.execute(database().db);
  expect(sqlstateOf(await change.catch((error: unknown) => error))).toBe('23514');
});
