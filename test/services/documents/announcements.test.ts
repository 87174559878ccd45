// Whoever has a document open is told of each version once and in order, whatever became of the
// wake-ups.

import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openWakeListener } from '../../../persistence/wake-listener.ts';
import {
  type Announcement,
  type AnnouncementsOptions,
  startAnnouncements,
} from '../../../services/documents/announcements.ts';
import { bringBack, removeAndAnnounce } from '../../../services/documents/documents.ts';
import { openSaves } from '../../../services/documents/save.ts';
import { grantTo, newDocument, writerOf } from '../../support/documents.ts';
import { opened, useOpened } from '../../support/opened.ts';
import { signal } from '../../support/signal.ts';

const database = useOpened();
const ada = (id: string) => ({ id, actor: 'ada' });

/** What was told, in order; the test waits for the next. */
function ear() {
  const heard: Announcement[] = [];
  let next = signal();
  return {
    heard,
    short: () =>
      heard.map(({ event, data }) => `${event} ${'version' in data ? data.version : ''}`.trim()),
    tell: (announcement: Announcement) => {
      heard.push(announcement);
      next.give();
    },
    /** Resolves once so many were heard. */
    async until(count: number): Promise<void> {
      while (heard.length < count) {
        next = signal();
        await next.given;
      }
    },
  };
}

function started(options: Pick<AnnouncementsOptions, 'wakes'> & Partial<AnnouncementsOptions>) {
  const log = pino({ enabled: false });
  const announcements = startAnnouncements({ database: database(), log, ...options });
  onTestFinished(announcements.close);
  return announcements;
}

/** Wake-ups by the test's hand. */
function handWakes() {
  let woken = signal();
  return {
    wake: () => woken.give(),
    wakes: {
      async wait(_topic: string, _ms: number, closing: AbortSignal): Promise<void> {
        const closed = signal();
        closing.addEventListener('abort', () => closed.give());
        if (!closing.aborted) await Promise.race([woken.given, closed.given]);
        woken = signal();
      },
    },
  };
}

describe('announcements', () => {
  it('come from another process, with the save and its writer', async () => {
    const wakes = await openWakeListener(database(), {});
    onTestFinished(wakes.close);
    const { watch } = started({ wakes, pollMs: 60_000 });
    const elsewhere = await opened({ url: database().url });
    const id = await newDocument(database());
    const me = writerOf(id);
    const mine = ear();
    await watch('ada', [id], mine.tell);
    expect(mine.short()).toEqual(['version 1']);

    const save = me.save(1, 'A');
    await openSaves(elsewhere).save(save);
    await mine.until(2);
    expect(mine.heard[1]).toMatchObject({
      event: 'version',
      data: { id, version: 2, saveId: save.save.id, writer: me.writer, by: 'ada' },
    });
    await removeAndAnnounce(elsewhere, ada(id));
    await mine.until(3);
    expect(mine.heard[2]).toMatchObject({ event: 'deleted', data: { id, by: 'ada' } });
  });

  it('tell every version once and in order, though one wake-up came for many', async () => {
    const { wake, wakes } = handWakes();
    const { watch } = started({ wakes });
    const id = await newDocument(database());
    const me = writerOf(id);
    const { save } = openSaves(database());
    const early = ear();
    await watch('ada', [id, id.toUpperCase()], early.tell);
    for (const base of [1, 2, 3]) await save(me.save(base, `${base}`));
    const late = ear();
    await watch('ada', [id], late.tell);
    expect(late.short()).toEqual(['version 4']);
    wake();
    await early.until(4);
    await save(me.save(4, '4'));
    wake();
    await late.until(2);
    await early.until(5);
    expect(early.short()).toEqual([1, 2, 3, 4, 5].map((version) => `version ${version}`));
    expect(late.short()).toEqual(['version 4', 'version 5']);
  });

  it('tell of a deletion once, and of what is there when it is brought back', async () => {
    const { wake, wakes } = handWakes();
    const { watch } = started({ wakes });
    const id = await newDocument(database());
    const mine = ear();
    await watch('ada', [id], mine.tell);
    await removeAndAnnounce(database(), ada(id));
    wake();
    await mine.until(2);
    const late = ear();
    await watch('ada', [id], late.tell);
    await bringBack(database(), ada(id));
    wake();
    await mine.until(3);
    await late.until(2);
    expect(mine.short()).toEqual(['version 1', 'deleted', 'version 1']);
    expect(late.short()).toEqual(['deleted', 'version 1']);
  });

  it('are of what somebody may read, while they may', async () => {
    const { wake, wakes } = handWakes();
    const { watch } = started({ wakes });
    const [id, foreign] = [await newDocument(database()), await newDocument(database())];
    await grantTo(database(), id, 'bob', 'reader');
    const [bobs, adas] = [ear(), ear()];
    const watching = await watch('bob', [id, foreign], bobs.tell);
    await watch('ada', [id], adas.tell);
    expect(watching.ids).toEqual([id]);
    await database().db.deleteFrom('fencepost.document_grant').where('document', '=', id).execute();
    await openSaves(database()).save(writerOf(id).save(1, 'A'));
    wake();
    await adas.until(2);
    // The foreign one never was there for bob; the other one is there no more.
    expect(bobs.short()).toEqual(['missing', 'version 1', 'missing']);
    await grantTo(database(), id, 'bob', 'editor');
    wake();
    await bobs.until(4);
    expect(bobs.short().at(-1)).toBe('version 2');
  });

  it('stop for who stops, and survive a look that fails', async () => {
    const { wake, wakes } = handWakes();
    const { watch } = started({ wakes });
    const id = await newDocument(database());
    const [gone, stays] = [ear(), ear()];
    const watching = await watch('ada', [id], gone.tell);
    await watch('ada', [id], stays.tell);
    watching.stop();
    await expect(watch('ada', ['no uuid'], gone.tell)).rejects.toThrow();
    await openSaves(database()).save(writerOf(id).save(1, 'A'));
    wake();
    await stays.until(2);
    expect(gone.short()).toEqual(['version 1']);
  });
});
