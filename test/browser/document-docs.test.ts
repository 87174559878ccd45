// The plain page of docs/document-session.md, as it stands there, in a real browser.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEditing, reached } from '../support/editing.ts';
import { bundledText } from '../support/editor-page.ts';
import { tokenOf } from '../support/open-api.ts';
import { useOpened } from '../support/opened.ts';
import { useBrowser } from '../support/pages.ts';

const browser = useBrowser();
const database = useOpened();

const docs = await readFile(join(import.meta.dirname, '../../docs/document-session.md'), 'utf8');

/** What the example leaves to its reader: elements by these ids, a document, a token. */
const html = `<!doctype html><title>plain</title><script type="module" src="/plain.js"></script>
  <label>Title <input id="field" /></label><output id="line"></output><dialog id="dialog"></dialog>`;

it('saves what is typed, and says so', async () => {
  const [, example = ''] = /In a plain page:\n\n```ts\n(.*?)```/s.exec(docs) ?? [];
  expect(example).toContain('openDocument');
  const authorization = JSON.stringify(`Bearer ${await tokenOf('ada')}`);
  const given = [
    "globalThis.id = new URL(location.href).searchParams.get('document');",
    `globalThis.authorization = ${authorization};`,
  ];
  const text = `${example}line.dataset.loaded = 'yes';\n`;
  const body = await bundledText(given.join('\n') + text);
  const { gateway, id, stored } = await openEditing(
    database(),
    new Map([
      ['/plain', { type: 'text/html', body: html }],
      ['/plain.js', { type: 'text/javascript', body }],
    ]),
  );
  const page = await browser.page();
  await page.goto(`${gateway.url}/plain?document=${id}`);
  await reached(page, '[data-loaded]');
  await page.getByLabel('Title').fill('From the docs');
  await (await gateway.arrived('PUT', 1)).answered;
  await page.getByText('Saved').waitFor();
  expect(await stored()).toEqual({ version: 2, title: 'From the docs' });
});
