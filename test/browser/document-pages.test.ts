// A document that is edited in pages that are closed, reloaded, duplicated, put away and brought
// back, in a real browser.

import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  notesOf,
  openEditing,
  reached,
  safely,
  saveNow,
  shows,
  statusesOf,
  typeNotes,
} from '../support/editing.ts';
import { useOpened } from '../support/opened.ts';
import { useBrowser } from '../support/pages.ts';
import { signal } from '../support/signal.ts';

const browser = useBrowser();
const database = useOpened();

const slotsOf = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() =>
    Object.keys(localStorage).filter((key) => key.startsWith('fencepost:draft:')),
  );

describe('a page that is left', () => {
  it.each([
    ['by closing its tab', (page: Page) => page.close({ runBeforeUnload: true })],
    ['by following a link', (page: Page) => page.getByRole('link', { name: 'Leave' }).click()],
    ['by a reload', (page: Page) => page.reload()],
  ])('%s saves what was typed in the last moment', async (_, leave) => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    await typeNotes(page, 'The last word.');
    await leave(page);
    await (await gateway.arrived('PUT', 1)).answered;
    expect(await stored()).toMatchObject({ version: 2, notes: 'The last word.' });
  });

  it.each([65_535, 65_536, 65_537])('saves a last body of %i bytes', async (bytes) => {
    const { gateway, stored, open } = await openEditing(database());
    const context = await browser.context();
    const page = await open(context);
    await typeNotes(page, 'x');
    await saveNow(page);
    await shows(page, 'saved', 2);
    const empty = (gateway.puts()[0]?.bytes ?? 0) - 1;
    await typeNotes(page, 'x'.repeat(bytes - empty));
    await page.close({ runBeforeUnload: true });
    const last = await gateway.arrived('PUT', 2);
    expect(last.bytes).toBe(bytes);
    expect(await last.answered).toBe(200);
    expect((await stored()).notes).toHaveLength(bytes - empty);
  });

  it.each([
    ['whose tab is closed', (page: Page) => page.close({ runBeforeUnload: true })],
    [
      'that goes elsewhere',
      (page: Page) => page.goto(page.url().replace(/127.*/, 'localhost:1')).catch(() => null),
    ],
  ])('%s saves also where its connections are all busy', async (_, leave) => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    const busy = signal();
    gateway.always(['POST'], { type: 'delay', until: busy.given });
    await page.evaluate(() => {
      const post = { method: 'POST', body: '{}' };
      for (let i = 0; i < 6; i += 1) fetch('/v1/documents', post).catch(() => undefined);
    });
    // The sixth connection has the stream of events.
    await gateway.arrived('POST', 5);
    await typeNotes(page, 'The last word.');
    await leave(page);
    busy.give();
    expect(await (await gateway.arrived('PUT', 1)).answered).toBe(200);
    expect(await stored()).toMatchObject({ version: 2, notes: 'The last word.' });
  });

  it('saves behind its own unanswered save', async () => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    const go = signal();
    gateway.next('PUT', { type: 'answer late', until: go.given });
    await typeNotes(page, 'one');
    const first = await gateway.arrived('PUT', 1);
    await typeNotes(page, 'one two');
    await page.close({ runBeforeUnload: true });
    const second = await gateway.arrived('PUT', 2);
    expect(second.body).toMatchObject({ expectedVersion: 1, after: [first.body['saveId']] });
    expect(await second.answered).toBe(200);
    expect(await stored()).toMatchObject({ version: 3, notes: 'one two' });
    go.give();
  });

  it('leaves a draft where the server was away, which the next one offers', async () => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    const back = gateway.always(['PUT'], { type: 'cut' });
    await typeNotes(page, 'While nobody listened.');
    await safely(page, 'draft');
    await page.reload();
    await shows(page, 'saved', 1);
    await reached(page, '[data-draft][data-alive="false"]');
    expect(await notesOf(page)).toBe('');
    back();
    await page.getByRole('button', { name: 'Continue with it' }).click();
    await shows(page, 'saved', 2);
    await reached(page, '#drafts[hidden]');
    expect(await notesOf(page)).toBe('While nobody listened.');
    expect(await stored()).toMatchObject({ version: 2, notes: 'While nobody listened.' });
    expect(await slotsOf(page)).toEqual([]);
  });
});

describe('two tabs of one person', () => {
  it('show each what the other saved', async () => {
    const { gateway, open } = await openEditing(database());
    const context = await browser.context();
    const [one, other] = [await open(context), await open(context)];
    await typeNotes(one, 'from one');
    await saveNow(one);
    await shows(other, 'saved', 2);
    expect(await notesOf(other)).toBe('from one');
    await typeNotes(other, 'from the other');
    await saveNow(other);
    await shows(one, 'saved', 3);
    expect(await notesOf(one)).toBe('from the other');
    const [first, second] = gateway.puts();
    expect(first?.body['writer']).not.toBe(second?.body['writer']);
    expect(await statusesOf(one)).not.toContain('conflict');
  });

  it('have a writer and a draft each, also where one was duplicated from the other', async () => {
    const { gateway, open } = await openEditing(database());
    const context = await browser.context();
    const one = await open(context);
    gateway.always(['PUT'], { type: 'cut' });
    const [other] = await Promise.all([
      context.waitForEvent('page'),
      one.evaluate(() => void window.open(location.href)),
    ]);
    await shows(other, 'saved');
    await typeNotes(one, 'of the first');
    await typeNotes(other, 'of the second');
    await Promise.all([safely(one, 'draft'), safely(other, 'draft')]);
    expect(await slotsOf(one)).toHaveLength(2);
    const puts = [await gateway.arrived('PUT', 1), await gateway.arrived('PUT', 2)];
    expect(puts).toHaveLength(2);
    const third = await open(context);
    await reached(third, '[data-draft][data-alive="true"] + [data-draft][data-alive="true"]');
  });

  it('share one stream, so that the saves of a seventh still go', async () => {
    const { stored, open } = await openEditing(database());
    const context = await browser.context();
    const pages: Page[] = [];
    for (let i = 0; i < 7; i += 1) pages.push(await open(context));
    const [first, , , , , , seventh] = pages;
    if (!first || !seventh) throw new Error('there are seven');
    await typeNotes(seventh, 'by the seventh');
    await saveNow(seventh);
    await Promise.all(pages.map((page) => shows(page, 'saved', 2)));
    expect(await notesOf(first)).toBe('by the seventh');
    expect(await stored()).toMatchObject({ version: 2 });
  });
});

describe('a page that is put away while something is unsaved', () => {
  const told = {
    'frozen by the browser': () => {
      document.dispatchEvent(new Event('freeze'));
      return 'resume';
    },
    'in the back-forward cache': () => {
      dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
      return 'pageshow';
    },
  };

  it.each(Object.entries(told))('%s, reads what is stored before it saves', async (_, putAway) => {
    const { gateway, saveAsBob, stored, open } = await openEditing(database());
    const context = await browser.context();
    const page = await open(context);
    await context.setOffline(true);
    await typeNotes(page, 'before the night');
    await shows(page, 'offline');
    const back = await page.evaluate(putAway);
    await saveAsBob({ title: 'By bob' });
    await context.setOffline(false);
    await page.evaluate((type) => {
      if (type === 'resume') document.dispatchEvent(new Event(type));
      else dispatchEvent(new PageTransitionEvent(type, { persisted: true }));
    }, back);
    await shows(page, 'conflict');
    expect(gateway.puts()).toEqual([]);
    expect(await notesOf(page)).toBe('before the night');
    expect(await stored()).toMatchObject({ version: 2, title: 'By bob' });
  });
});

// The Chromium of the npm package has no back-forward cache; one that CHROME_PATH names may have.
describe('a page that comes back from the back-forward cache', () => {
  /** Tells of how a page is shown, and of each status from then on. */
  const telling = () =>
    addEventListener('pageshow', ({ persisted }) => {
      const tell = (told: object) => fetch('/told', { method: 'POST', body: JSON.stringify(told) });
      tell({ persisted });
      if (!persisted) return;
      globalThis.editor.session.subscribe(({ status, version }) => tell({ status, version }));
    });

  it.for([
    ['that was answered', 'saved', 3],
    ['that was not answered', 'conflict', 1],
  ] as const)('with a save %s knows what was saved since', async (told, { skip }) => {
    const [how, status, version] = told;
    const { gateway, saveAsBob, stored, open } = await openEditing(database());
    const context = await browser.context();
    await context.addInitScript(telling);
    const page = await open(context);
    const isAnswered = how === 'that was answered';
    const reopen = isAnswered ? () => false : gateway.always(['PUT'], { type: 'cut' });
    await typeNotes(page, 'before I left');
    await page.getByRole('link', { name: 'Leave' }).click();
    await gateway.arrived('TOLD', 2);
    await (await gateway.arrived('PUT', 1)).answered;
    await saveAsBob({ title: 'By bob' }, isAnswered ? 2 : 1);
    reopen();
    // Playwright does not follow a page out of the cache: what it shows is told by the page.
    page.evaluate(() => history.back()).catch(() => undefined);
    const shown = await gateway.arrived('TOLD', 3);
    skip(shown.body['persisted'] !== true, 'this browser has no back-forward cache');
    for (let n = 4; ; n += 1) {
      const { body } = await gateway.arrived('TOLD', n);
      if (body['status'] === status && body['version'] === version) break;
    }
    expect(await stored()).toMatchObject({ title: 'By bob' });
  });
});

describe('a storage that is full', () => {
  const fill = (page: Page) =>
    page.evaluate(() => {
      for (let size = 2 ** 20; size >= 1; size = Math.floor(size / 2)) {
        try {
          for (let i = 0; ; i += 1) localStorage.setItem(`fill-${size}-${i}`, 'x'.repeat(size));
        } catch {
          // Less fits.
        }
      }
    });
  const free = (page: Page) =>
    page.evaluate(() => {
      for (const key of Object.keys(localStorage)) {
        if (key.startsWith('fill-')) localStorage.removeItem(key);
      }
    });

  /** IndexedDB has no quota in a browser of tests: what it would say is said for it. */
  const refuse = (page: Page, isFull: boolean) =>
    page.evaluate((full) => {
      const { prototype } = IDBObjectStore;
      const own = Reflect.get(globalThis, 'ownPut') ?? prototype.put;
      Reflect.set(globalThis, 'ownPut', own);
      prototype.put = full
        ? () => {
            throw new DOMException('There is no room.', 'QuotaExceededError');
          }
        : own;
    }, isFull);

  it('of one kind leaves the other one for drafts', async () => {
    const { gateway, open } = await openEditing(database());
    const page = await open(await browser.context());
    gateway.always(['PUT'], { type: 'cut' });
    await fill(page);
    await typeNotes(page, 'where there is room');
    await safely(page, 'draft');
    expect(await slotsOf(page)).toEqual([]);
    await page.reload();
    await reached(page, '[data-draft]');
  });

  it('is said, and used again when there is room', async () => {
    const { gateway, open } = await openEditing(database());
    const page = await open(await browser.context());
    gateway.always(['PUT'], { type: 'cut' });
    await fill(page);
    await refuse(page, true);
    await typeNotes(page, 'nowhere but here');
    await reached(page, '[data-draft-trouble="full"]');
    await page.getByText('Only in this page').waitFor();
    await free(page);
    await refuse(page, false);
    await typeNotes(page, 'nowhere but here, once');
    await safely(page, 'draft');
    await reached(page, '[data-status]:not([data-draft-trouble])');
    expect(await slotsOf(page)).toHaveLength(1);
  });
});
