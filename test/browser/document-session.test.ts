// The session in a real Chromium: what only a browser can show of storage, streams and dying pages.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DocumentSession } from '../../client/index.ts';
import type { SessionSnapshot } from '../../client/session-snapshot.ts';
import type { Json } from '../../kinds/json.ts';
import { launchBrowser, launchProfile } from '../support/chromium.ts';
import { type DocumentSite, startDocumentSite } from '../support/document-site.ts';

declare const session: DocumentSession;
declare const when: (members: Record<string, unknown>) => Promise<SessionSnapshot>;

let browser: Browser;
let site: DocumentSite;
let context: BrowserContext;

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  site = await startDocumentSite();
  site.wire.create({ id: 'plan', kind: 'record', content: { attributes: { a: 0 } }, owner: 'ada' });
  context = await browser.newContext();
});
afterEach(async () => {
  await context.close();
  await site.close();
});

async function open(pages: BrowserContext = context): Promise<Page> {
  const page = await pages.newPage();
  await page.goto(site.url);
  await seen(page, { status: 'saved' });
  return page;
}

const seen = (page: Page, members: Record<string, unknown>): Promise<SessionSnapshot> =>
  page.evaluate(async (wanted) => {
    if (typeof when === 'undefined') {
      await new Promise((resolve) => addEventListener('load', resolve, { once: true }));
    }
    return when(wanted);
  }, members);
const edit = (page: Page, a: Json): Promise<void> =>
  page.evaluate((value) => session.edit({ attributes: { a: value } }), a as never);
const content = (a: Json) => ({ attributes: { a } });

describe('a page in Chromium', () => {
  it('saves, and a tab beside it follows by a stream that they share', async () => {
    const [one, two] = [await open(), await open()];
    await edit(one, 1);
    await seen(one, { status: 'saved', version: 2 });
    expect(site.wire.current('plan').content).toEqual(content(1));
    expect(await seen(two, { version: 2, content: content(1) })).toMatchObject({ status: 'saved' });
    expect(site.streams()).toBe(1);
  });

  it('is a writer of its own when it was duplicated, and overwrites nothing', async () => {
    const one = await open();
    const popup = context.waitForEvent('page');
    await one.evaluate(() => void window.open(location.href));
    const two = await popup;
    await two.waitForURL(`${site.url}/**`);
    await seen(two, { status: 'saved' });
    await Promise.all([one, two].map((page) => page.evaluate(() => void session.hold())));
    await edit(one, 1);
    await seen(one, { status: 'saved', version: 2 });
    await edit(two, 2);
    await seen(two, { status: 'conflict' });
    expect(site.wire.current('plan').content).toEqual(content(1));
  });

  it('saves when the network is back, without another edit', async () => {
    const page = await open();
    await context.setOffline(true);
    await edit(page, 1);
    await seen(page, { status: 'offline', safe: 'draft' });
    await context.setOffline(false);
    await seen(page, { status: 'saved', version: 2 });
  });

  it('is offered its work after a reload, adopts it, and saves it', async () => {
    const page = await open();
    site.intercept(({ method }, response) => method === 'PUT' && !!response.destroy());
    await edit(page, 1);
    await seen(page, { status: 'unconfirmed', safe: 'draft' });
    await page.reload();
    await seen(page, { status: 'saved', version: 1 });
    site.intercept(() => false);
    const adopted = await page.evaluate(async () => {
      const { siblings } = await new Promise<SessionSnapshot>((resolve) =>
        session.subscribe((now) => now.siblings.length > 0 && resolve(now)),
      );
      return session.adopt(siblings[0]?.key ?? '');
    });
    expect(adopted).toBe('adopted');
    await seen(page, { status: 'saved', version: 2, content: content(1), siblings: [] });
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]);
  });

  it('brings home what was typed in the moment before it was closed', async () => {
    const page = await open();
    const saved = site.nextSave();
    await edit(page, 'last');
    await page.close({ runBeforeUnload: true });
    expect(await saved).toEqual(content('last'));
  });

  it('keeps its draft in IndexedDB where localStorage is full', async () => {
    const page = await open();
    await context.setOffline(true);
    await page.evaluate(() => {
      const rest = 5_242_880 - 'rubbish'.length;
      localStorage.setItem('rubbish', 'x'.repeat(rest));
    });
    await edit(page, 1);
    expect(await seen(page, { safe: 'draft' })).toMatchObject({ draftTrouble: null });
  });

  it.each([
    ['a page with status 200', 200],
    ['a redirect to a page', 303],
  ])('takes %s for a sign-in', async (_, status) => {
    const page = await open();
    site.intercept(({ method }, response) => {
      if (method !== 'PUT') return false;
      response.writeHead(status, { 'content-type': 'text/html', location: '/' }).end('<p>Sign in');
      return true;
    });
    await edit(page, 1);
    await seen(page, { status: 'signed-out', safe: 'draft' });
    expect(site.wire.current('plan').version).toBe(1);
  });
});

describe('a page that dies or sleeps', () => {
  it.each([65_536, 65_537])('sends a body of %i bytes when it is closed', async (bytes) => {
    const page = await open();
    const save = { saveId: '', writer: '', expectedVersion: 1, content: content('') };
    // Two ids of 36 characters each.
    const empty = JSON.stringify(save).length + 72;
    const text = 'x'.repeat(bytes - empty);
    const saved = site.nextSave();
    await edit(page, text);
    await page.close({ runBeforeUnload: true });
    expect(await saved).toEqual(content(text));
  });

  it('finds what was saved while it was frozen, and overwrites nothing', async () => {
    const page = await open();
    site.intercept(({ method }, response) => method === 'PUT' && !!response.destroy());
    const life = await context.newCDPSession(page);
    await edit(page, 1);
    await life.send('Page.setWebLifecycleState', { state: 'frozen' });
    site.wire.saveAs('plan', 'bob', content(2));
    site.intercept(() => false);
    await life.send('Page.setWebLifecycleState', { state: 'active' });
    await seen(page, { status: 'conflict', content: content(1) });
    expect(site.wire.current('plan').content).toEqual(content(2));
  });
});

describe('a browser that is killed', () => {
  it('a second after the last keystroke is offered what was typed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fencepost-profile-'));
    const first = await launchProfile(folder);
    const page = await open(first.context);
    site.intercept(({ method }, response) => method === 'PUT' && !!response.destroy());
    await edit(page, 'typed');
    await seen(page, { status: 'unconfirmed', safe: 'draft' });
    const closed = new Promise((resolve) => first.context.once('close', resolve));
    process.kill(first.pid, 'SIGKILL');
    await closed;
    site.intercept(() => false);
    const second = await launchProfile(folder);
    try {
      const next = await open(second.context);
      const offered = await next.evaluate(
        () =>
          new Promise((resolve) =>
            session.subscribe(
              (now) => now.siblings.length > 0 && resolve(now.siblings[0]?.content),
            ),
          ),
      );
      expect(offered).toEqual(content('typed'));
    } finally {
      await second.context.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
