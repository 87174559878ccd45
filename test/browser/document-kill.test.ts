// The browser's process is killed while a person types: what is lost, what is offered, and how the
// person goes on.
//
// - localStorage of the last seconds is gone then; the copy in IndexedDB is not.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { launchProfile, type Profile } from '../support/chromium.ts';
import { notesOf, openEditing, picture, reached, safely, shows } from '../support/editing.ts';
import { useOpened } from '../support/opened.ts';

const database = useOpened();
const atMostMs = 1000;

async function profileFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fencepost-profile-'));
  // A browser that was killed may leave processes behind that still write for a moment.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

interface Key {
  readonly key: string;
  readonly at: number;
}

/** Types key by key, and remembers when the page had each. */
async function type(page: Page, text: string): Promise<readonly Key[]> {
  await page.getByLabel('Notes').focus();
  const keys: Key[] = [];
  for (const key of text) {
    await page.keyboard.type(key, { delay: 15 });
    keys.push({ key, at: performance.now() });
  }
  return keys;
}

async function kill({ context, pid }: Profile): Promise<number> {
  const closed = context.waitForEvent('close');
  process.kill(pid, 'SIGKILL');
  const at = performance.now();
  await closed;
  return at;
}

/** What must be in the draft: all but the last second of typing. */
const atLeast = (keys: readonly Key[], killedAt: number): string =>
  keys
    .filter(({ at }) => at < killedAt - atMostMs)
    .map(({ key }) => key)
    .join('');

const offered = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const [sibling] = globalThis.editor.session.getSnapshot().siblings;
    if (!sibling) throw new Error('nothing is offered');
    const { attributes } = sibling.content as { readonly attributes: { readonly notes: string } };
    return attributes.notes;
  });

it('offers the draft after a kill a moment after the last key, and saves it', async () => {
  const { gateway, stored, open } = await openEditing(database());
  const folder = await profileFolder();
  const back = gateway.always(['PUT'], { type: 'cut' });
  const first = await launchProfile(folder);
  const page = await open(first.context);
  const text = 'Leave it with the neighbour. She is in until six.';
  const keys = await type(page, text);
  await safely(page, 'draft');
  // The pause after the last key is over when the save goes out, 0.8 s after it.
  await gateway.arrived('PUT', 1);
  await picture(page, 'kill-1-typed');
  const killedAt = await kill(first);
  back();

  const second = await launchProfile(folder);
  onTestFinished(() => second.context.close());
  const again = await open(second.context);
  await reached(again, '[data-draft][data-alive="false"]');
  expect(await notesOf(again)).toBe('');
  await picture(again, 'kill-2-offered');
  const draft = await offered(again);
  expect(text.startsWith(draft)).toBe(true);
  expect(draft.startsWith(atLeast(keys, killedAt))).toBe(true);
  await again.getByRole('button', { name: 'Continue with it' }).click();
  await shows(again, 'saved', 2);
  await reached(again, '#drafts[hidden]');
  await picture(again, 'kill-3-saved');
  expect(await notesOf(again)).toBe(draft);
  expect(await stored()).toMatchObject({ version: 2, notes: draft });
});

it('loses at most a second of typing to a kill in the middle of it', async () => {
  const { gateway, open } = await openEditing(database());
  const folder = await profileFolder();
  gateway.always(['PUT'], { type: 'cut' });
  const first = await launchProfile(folder);
  const page = await open(first.context);
  const text = 'one two three four five six seven eight nine ten '.repeat(3);
  const keys = await type(page, text);
  const killedAt = await kill(first);

  const second = await launchProfile(folder);
  onTestFinished(() => second.context.close());
  const again = await open(second.context);
  await reached(again, '[data-draft]');
  const draft = await offered(again);
  const least = atLeast(keys, killedAt);
  expect(least.length).toBeGreaterThan(20);
  expect(draft.startsWith(least)).toBe(true);
});
