// Saves at the same time, on as many connections, and an answer that the network swallowed.

import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { overtake } from '../../../persistence/document-saves.ts';
import { defaultLimits } from '../../../persistence/limits.ts';
import { isLockTimeout } from '../../../persistence/sqlstate.ts';
import { transaction } from '../../../persistence/transaction.ts';
import {
  abandon,
  openSaves,
  type Save,
  type SaveOutcome,
  saveOfKind,
  saveWithin,
} from '../../../services/documents/save.ts';
import { chain } from '../../support/document-model.ts';
import {
  grantTo,
  historyFindings,
  newDocument,
  revisionsOf,
  textOf,
  told,
  writerOf,
} from '../../support/documents.ts';
import { opened, useOpened } from '../../support/opened.ts';
import { openProxy } from '../../support/proxy.ts';

const database = useOpened({ connections: 16 });
const saves = () => openSaves(database());

describe('writers at the same time', () => {
  const [writers, marks] = [16, 12];

  it('lose nothing: 16 of them, each version one generation', async () => {
    const document = await newDocument(database());
    const { save } = saves();
    const versions: number[] = [];
    let conflicts = 0;

    /** Adds its marks one by one to whatever is there, as often as that takes. */
    async function type(name: string): Promise<void> {
      const me = writerOf(document);
      for (let mark = 0; mark < marks; ) {
        const read = (await revisionsOf(database(), document)).at(-1);
        const base = read?.version ?? 0;
        const outcome = await save(me.save(base, `${read?.text} ${name}${mark}`));
        if (outcome.outcome === 'conflict') {
          expect(outcome.conflict.version).toBeGreaterThan(base);
          conflicts += 1;
          continue;
        }
        expect(told(outcome)).toBe(`saved ${base + 1} of ${base + 1}`);
        versions.push(base + 1);
        mark += 1;
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, i) => type(`w${i}.`)));

    expect(conflicts).toBeGreaterThan(0);
    expect(new Set(versions).size).toBe(writers * marks);
    const texts = (await revisionsOf(database(), document)).map(({ text }) => text);
    expect(texts).toHaveLength(writers * marks + 1);
    for (const [i, text] of texts.slice(1).entries()) {
      expect(text.startsWith(`${texts[i]} w`)).toBe(true);
    }
    const typedMarks = texts.at(-1)?.trim().split(' ') ?? [];
    expect(new Set(typedMarks).size).toBe(writers * marks);
    expect(await historyFindings(database(), document)).toEqual([]);
  });

  it('get one success and otherwise conflicts for the same version', async () => {
    const document = await newDocument(database());
    const { save } = saves();
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, i) => save(writerOf(document).save(1, `${i}`))),
    );
    const answers = outcomes.map(told).toSorted();
    expect(answers).toEqual([...Array(15).fill('conflict with 2'), 'saved 2 of 2']);
  });

  it('that send one save 16 times make one version, and all of them succeed', async () => {
    const document = await newDocument(database());
    const { save } = saves();
    const once = writerOf(document).save(1, 'A');
    const outcomes = await Promise.all(Array.from({ length: 16 }, () => save(once)));
    const answers = outcomes.map(told).toSorted();
    expect(answers).toEqual([...Array(15).fill('replayed 2 of 2'), 'saved 2 of 2']);
    expect(await historyFindings(database(), document)).toEqual([]);
  });
});

describe('a chain of three saves at the same time', () => {
  const rounds = 300;
  const isGood = ({ outcome }: SaveOutcome) => ['saved', 'superseded'].includes(outcome);

  it(`ends with the last one in each of ${rounds} rounds, without a conflict`, async () => {
    const { save } = saves();
    const seen = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      const document = await newDocument(database());
      const steps = chain(writerOf(document).save);
      const outcomes = await Promise.all(steps.map((step) => save(step.save(1))));
      seen.add(outcomes.map(told).join(', '));
      expect(outcomes.filter(isGood), [...seen].at(-1)).toHaveLength(3);
      expect(await textOf(database(), document)).toBe('ABC');
      expect(await historyFindings(database(), document)).toEqual([]);
    }
    // Not always the same order, or nothing was raced.
    expect(seen.size).toBeGreaterThan(1);
  });

  it(`never goes over a foreign save in ${rounds / 3} rounds, nor the other way round`, async () => {
    const { save } = saves();
    for (let round = 0; round < rounds / 3; round += 1) {
      const document = await newDocument(database());
      await grantTo(database(), document, 'bob', 'editor');
      const steps = chain(writerOf(document).save).map((step) => step.save(1));
      const foreign = writerOf(document, 'bob').save(1, 'F');
      const all = [...steps, foreign];
      const outcomes = await Promise.all(all.map((each) => save(each)));
      const texts = (await revisionsOf(database(), document)).map(({ text }) => text);
      const isTheirs = texts.includes('F');
      // One base, two writers: exactly one of them has versions.
      expect(texts.length).toBeGreaterThan(1);
      expect(isTheirs).toBe(!texts.some((text) => text.startsWith('A')));
      expect(outcomes.slice(0, 3).every(isGood)).toBe(!isTheirs);
      expect(outcomes[3]?.outcome).toBe(isTheirs ? 'saved' : 'conflict');
      expect(await historyFindings(database(), document)).toEqual([]);
    }
  });

  it('and its abandonment agree on what took effect', async () => {
    const { save } = saves();
    const seen = new Set<string>();
    for (let round = 0; round < rounds / 3; round += 1) {
      const document = await newDocument(database());
      const me = writerOf(document);
      const steps = chain(me.save).map((step) => step.save(1));
      const saveIds = steps.map((step) => step.save?.id ?? '').toReversed();
      const given = { document, actor: 'ada', writer: me.writer, saveIds };
      const [answer, ...outcomes] = await Promise.all([
        abandon(database(), given),
        ...steps.map((each) => save(each)),
      ]);
      if (answer.outcome !== 'abandoned') throw new Error(answer.outcome);
      const made = await revisionsOf(database(), document);
      const committed = made.flatMap(({ save: id, version }) =>
        id ? [{ saveId: id, version }] : [],
      );
      expect(answer.committed.toSorted((a, b) => a.version - b.version)).toEqual(committed);
      expect(answer.abandoned.length + committed.length).toBe(3);
      expect(outcomes.filter(isGood)).toHaveLength(3);
      seen.add(String(committed.length));
    }
    expect(seen.size).toBeGreaterThan(1);
  });
});

describe('a save whose answer was swallowed after the commit', () => {
  it('is replayed when it is sent again', async () => {
    const proxy = await openProxy(database().url);
    onTestFinished(() => proxy.close());
    const far = await opened({ url: proxy.url, connections: 1 });
    const document = await newDocument(database());
    const me = writerOf(document);
    // Without the wake-up that a request sends, whose answer would be the one that is dropped.
    const save = (each: Save) => saveOfKind(far.db, 'record', each);
    expect(told(await save(me.save(1, 'A')))).toBe('saved 2 of 2');

    const lost = me.save(2, 'AB');
    const dropped = proxy.drop();
    const answer = save(lost).then(told, () => 'no answer');
    await dropped;
    proxy.cut();
    expect(await answer).toBe('no answer');
    expect(await textOf(database(), document)).toBe('AB');

    expect(told(await save(lost))).toBe('replayed 3 of 3');
    expect(await historyFindings(database(), document)).toEqual([]);
  });
});

it('an abandonment waits for a save that is under way, and neither for the other', async () => {
  const document = await newDocument(database());
  const me = writerOf(document);
  const given = { document, actor: 'ada', writer: me.writer, saves: [randomUUID()] };
  const limits = { ...defaultLimits, lockMs: 20 };
  await transaction(database(), async (tx) => {
    await saveWithin(tx, me.save(1, 'A'));
    const waited = transaction(database(), (other) => overtake(other, given), { limits });
    expect(isLockTimeout(await waited.catch((error: unknown) => error))).toBe(true);
  });
  expect(await transaction(database(), (tx) => overtake(tx, given))).toHaveLength(1);
});

describe('a save in somebody else’s transaction', () => {
  it('happens with it or not at all, and leaves it usable when it does not fit', async () => {
    const document = await newDocument(database());
    const me = writerOf(document);
    const undone = transaction(database(), async (tx) => {
      expect(told(await saveWithin(tx, me.save(1, 'A')))).toBe('saved 2 of 2');
      throw new Error('undo');
    });
    await expect(undone).rejects.toThrow('undo');
    expect(await textOf(database(), document)).toBe('');

    const kept = me.save(1, 'B');
    await transaction(database(), async (tx) => {
      expect(told(await saveWithin(tx, kept))).toBe('saved 2 of 2');
      expect(told(await saveWithin(tx, me.save(1, 'C')))).toBe('conflict with 2');
      expect(told(await saveWithin(tx, kept))).toBe('replayed 2 of 2');
      expect(told(await saveWithin(tx, me.save(2, 'BC')))).toBe('saved 3 of 3');
    });
    expect(await textOf(database(), document)).toBe('BC');
    expect(await historyFindings(database(), document)).toEqual([]);
  });
});
