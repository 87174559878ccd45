// The browser of the tests itself: what tests of a page's storage and of a kill rely on.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { browserCommand, launchProfile } from '../support/chromium.ts';
import { serve, useBrowser } from '../support/pages.ts';

const browser = useBrowser();

const serveEmptyPages = () =>
  serve((_, answer) => {
    answer.setHeader('content-type', 'text/html').end('<!doctype html><title>empty</title>');
  });

async function profileFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fencepost-profile-'));
  // A browser that was killed may leave processes behind that still write for a moment.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

it('is found by several at once, and is one', async () => {
  const commands = await Promise.all(Array.from({ length: 4 }, browserCommand));
  expect(new Set(commands.map(({ executablePath }) => executablePath)).size).toBe(1);
});

it('shares nothing between two pages of a file', async () => {
  const url = await serveEmptyPages();
  const [one, other] = await Promise.all([browser.page(), browser.page()]);
  await Promise.all([one.goto(url), other.goto(url)]);
  await one.evaluate(() => localStorage.setItem('key', 'mine'));
  expect(await other.evaluate(() => localStorage.getItem('key'))).toBeNull();
});

it('keeps a profile from one start to the next', async () => {
  const [url, folder] = [await serveEmptyPages(), await profileFolder()];
  for (const expected of [null, 'kept']) {
    const { context } = await launchProfile(folder);
    const page = await context.newPage();
    await page.goto(url);
    expect(await page.evaluate(() => localStorage.getItem('key'))).toBe(expected);
    await page.evaluate(() => localStorage.setItem('key', 'kept'));
    await context.close();
  }
});

it('dies with the process that it names', async () => {
  const { context, pid } = await launchProfile(await profileFolder());
  const closed = context.waitForEvent('close');
  process.kill(pid, 'SIGKILL');
  await closed;
  await expect(context.newPage()).rejects.toThrow(/closed/);
});
