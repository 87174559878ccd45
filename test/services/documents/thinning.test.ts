// Old revisions become fewer, by what their ages say; receipts go by theirs.

import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSaves } from '../../../services/documents/save.ts';
import { startThinning, type ThinningOptions } from '../../../services/documents/thinning.ts';
import { newDocument, revisionsOf, told, writerOf } from '../../support/documents.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();

async function thinning(options: Partial<ThinningOptions> = {}) {
  const started = startThinning({
    database: database(),
    log: pino({ enabled: false }),
    ...options,
  });
  onTestFinished(started.close);
  // The first turn is over before anything is made older.
  await started.runOnce();
  return started;
}

/** A document with one revision for each instant, oldest first, said in SQL. */
async function withRevisions(instants: readonly string[]): Promise<string> {
  const id = await newDocument(database(), { text: '1' });
  const me = writerOf(id);
  const { save } = openSaves(database());
  for (const [i] of instants.slice(1).entries()) await save(me.save(i + 1, `${i + 2}`));
  for (const [i, at] of instants.entries()) {
    await sql`update fencepost.document_revision set at = ${sql.raw(at)}
      where document = ${id} and version = ${i + 1}`.execute(database().db);
  }
  return id;
}

const versionsOf = async (id: string) =>
  (await revisionsOf(database(), id)).map(({ version }) => version);

/** Minutes into an hour of a day so many days ago. */
const ago = (days: number, hour: number, minute: number) =>
  `date_trunc('day', now(), 'UTC') - interval '${days} days' + interval '${hour} hours ${minute} minutes'`;

const force = async (id: string, version: number, change: string) => {
  await sql`update fencepost.document_revision set ${sql.raw(change)}
    where document = ${id} and version = ${version}`.execute(database().db);
};

describe('thinning', () => {
  it('keeps all of a day, then the last of each hour, and the newest always', async () => {
    const { runOnce } = await thinning();
    const old = await withRevisions([
      ...[ago(3, 1, 0), ago(3, 1, 20), ago(3, 1, 59)],
      ...[ago(3, 2, 0), ago(3, 5, 0), ago(3, 5, 1), ago(3, 5, 2)],
    ]);
    const young = await withRevisions(["now() - interval '23 hours'", 'now()', 'now()']);
    const alone = await withRevisions([ago(3, 1, 0)]);
    expect(await runOnce()).toMatchObject({ hourly: 4, daily: 0 });
    expect(await versionsOf(old)).toEqual([3, 4, 7]);
    expect(await versionsOf(young)).toEqual([1, 2, 3]);
    expect(await versionsOf(alone)).toEqual([1]);
  });

  it('keeps the last of each day after a month', async () => {
    const { runOnce } = await thinning();
    const id = await withRevisions([
      ...[ago(40, 1, 0), ago(40, 2, 0), ago(40, 2, 1), ago(40, 9, 0)],
      ...[ago(39, 1, 0), ago(39, 2, 0), ago(20, 1, 0), ago(20, 2, 0)],
    ]);
    expect(await runOnce()).toMatchObject({ hourly: 1, daily: 3 });
    expect(await versionsOf(id)).toEqual([4, 6, 7, 8]);
    expect(await runOnce()).toEqual({ hourly: 0, daily: 0, receipts: 0 });
  });

  it('keeps what has a name and what brought a version back', async () => {
    const { runOnce } = await thinning();
    const id = await withRevisions([1, 2, 3, 4, 5, 6].map((minute) => ago(40, 1, minute)));
    await force(id, 2, "name = 'as sent'");
    await force(id, 4, 'restored_from = 1');
    await runOnce();
    expect(await versionsOf(id)).toEqual([2, 4, 6]);
  });

  it('goes on batch by batch until nothing is due', async () => {
    const { runOnce } = await thinning({ batch: 2 });
    const minutes = Array.from({ length: 9 }, (_, minute) => ago(3, 1, minute));
    const id = await withRevisions(minutes);
    expect(await runOnce()).toMatchObject({ hourly: 8 });
    expect(await versionsOf(id)).toEqual([9]);
  });

  it('leaves what a save is compared with: the next one fits', async () => {
    const { runOnce } = await thinning();
    const id = await withRevisions([ago(40, 1, 0), ago(40, 1, 1), ago(40, 1, 2)]);
    await runOnce();
    const { save } = openSaves(database());
    const stale = await save(writerOf(id).save(1, 'x'));
    expect(stale).toMatchObject({ outcome: 'conflict', conflict: { baseKnown: false } });
    expect(told(await save(writerOf(id).save(3, 'x')))).toBe('saved 4 of 4');
  });

  it('lets receipts go after 30 days, and not before', async () => {
    const { runOnce } = await thinning();
    const { save } = openSaves(database());
    const id = await newDocument(database());
    const me = writerOf(id);
    const [old, young] = [me.save(1, 'A'), me.save(2, 'AB')];
    await save(old);
    await save(young);
    const age = async (saveId: string, days: number) => {
      await sql`with gone as (delete from fencepost.document_save where save = ${saveId}
          returning document, writer, save, version, hash)
        insert into fencepost.document_save (document, writer, save, version, hash, at)
        select *, now() - ${days} * interval '1 day' from gone`.execute(database().db);
    };
    await age(old.save.id, 31);
    await age(young.save.id, 29);
    expect(await runOnce()).toMatchObject({ receipts: 1 });
    expect(told(await save(young))).toBe('replayed 3 of 3');
    expect(told(await save(old))).toBe('conflict with 3');
  });
});
