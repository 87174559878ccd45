// People who edit documents in a real browser: the API, the gateway before it and the test page,
// with a Postgres behind them.
//
// - What a page shows is waited for by the page's own changes; requests by the gateway.

import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import type { Database } from '../../persistence/database.ts';
import { openDocumentApi } from './document-api.ts';
import { editorPage, type ServedFile } from './editor-page.ts';
import { openGateway } from './gateway.ts';
import { tokenOf } from './open-api.ts';

export const firstForm = { title: 'Delivery 42', quantity: '12', notes: '' };
export type Form = Partial<typeof firstForm>;

/** Resolves once an element of the page matches, by the page's own changes. */
export async function reached(page: Page, selector: string): Promise<void> {
  await page.evaluate(
    (wanted) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!document.querySelector(wanted)) return;
          observer.disconnect();
          resolve();
        };
        const observer = new MutationObserver(look);
        const all = { subtree: true, childList: true, attributes: true, characterData: true };
        observer.observe(document, all);
        look();
      }),
    selector,
  );
}

/** Resolves once the page shows this status, and this version where one is given. */
export const shows = (page: Page, status: string, version?: number): Promise<void> =>
  reached(
    page,
    `[data-status="${status}"]${version === undefined ? '' : `[data-version="${version}"]`}`,
  );

export const safely = (page: Page, safe: 'server' | 'draft' | 'page'): Promise<void> =>
  reached(page, `[data-safe="${safe}"]`);

export const statusesOf = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => globalThis.editor.statuses);

export const typeNotes = (page: Page, text: string): Promise<void> =>
  page.getByLabel('Notes').fill(text);

export const saveNow = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Save now' }).click();

export const notesOf = (page: Page): Promise<string> => page.getByLabel('Notes').inputValue();

/** Takes a picture where `PICTURES` names a folder for them. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PICTURES'];
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Opens a service for one test, with a record of ada's that bob may edit, and pages before it. */
export async function openEditing(
  database: Database,
  more: ReadonlyMap<string, ServedFile> = new Map(),
) {
  const { api, ada, bob } = await openDocumentApi(database);
  const files = new Map([...(await editorPage()), ...more]);
  const gateway = await openGateway({ api: api.url, files, tokenOf });

  async function newDocument(form: Form = {}): Promise<string> {
    const name = 'Delivery note';
    const content = { attributes: { ...firstForm, ...form } };
    const made = await ada.call('POST', '/v1/documents', { kind: 'record', name, content });
    const id = String(made.body['id']);
    await ada.call('PUT', `/v1/documents/${id}/grants/bob`, { access: 'editor' });
    return id;
  }
  const id = await newDocument();

  return {
    ...{ gateway, ada, bob, id, newDocument },
    /** Saves as bob, behind this version. */
    async saveAsBob(form: Form, expectedVersion = 1): Promise<void> {
      const content = { attributes: { ...firstForm, ...form } };
      const save = { saveId: randomUUID(), writer: randomUUID(), expectedVersion, content };
      const { status, body } = await bob.call('PUT', `/v1/documents/${id}`, save);
      if (status !== 200) throw new Error(JSON.stringify(body));
    },
    /** Opens the document in a new tab. */
    async open(context: BrowserContext, document = id): Promise<Page> {
      const page = await context.newPage();
      await page.goto(`${gateway.url}/?document=${document}`);
      await shows(page, 'saved');
      return page;
    },
    /** The document as it is stored. */
    async stored(document = id) {
      const { body } = await ada.call('GET', `/v1/documents/${document}`);
      const { attributes } = body['content'] as { readonly attributes: typeof firstForm };
      return { version: body['version'], ...attributes };
    },
  };
}

export type Editing = Awaited<ReturnType<typeof openEditing>>;
