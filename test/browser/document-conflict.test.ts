// A document that somebody else, or a plan, saves while a person edits it in a real browser: what
// the page shows, what can be chosen, and that everybody can read and reach it.

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../persistence/transaction.ts';
import { documentTools } from '../../services/documents/tools.ts';
import { toolRegistry } from '../../services/proposals/tools.ts';
import {
  type Editing,
  firstForm,
  notesOf,
  openEditing,
  picture,
  reached,
  safely,
  saveNow,
  shows,
  typeNotes,
} from '../support/editing.ts';
import { useOpened } from '../support/opened.ts';
import { useBrowser } from '../support/pages.ts';
import { signal } from '../support/signal.ts';

const browser = useBrowser();
const database = useOpened();

const choose = (page: Page, name: string) => page.getByRole('button', { name }).click();

/** Ada types a title and notes, and somebody else saves before her save is there. */
async function conflicted(editing: Editing, saveFirst: () => Promise<unknown>): Promise<Page> {
  const { gateway, open } = editing;
  const page = await open(await browser.context());
  const others = signal();
  gateway.next('PUT', { type: 'delay', until: others.given });
  await page.getByLabel('Title').fill('Delivery 42, by ada');
  await typeNotes(page, 'Ring twice.');
  await saveNow(page);
  await gateway.arrived('PUT', 1);
  await saveFirst();
  others.give();
  await shows(page, 'conflict');
  await reached(page, '#conflict:not([hidden]) button');
  return page;
}

const byBob = { title: 'Delivery 42, by bob', quantity: '40' };
const revision = async ({ ada, id }: Editing, version: number) =>
  (await ada.call('GET', `/v1/documents/${id}/revisions/${version}`)).body;

describe('a colleague who saves first', () => {
  it('is told of, and nothing is saved before somebody chooses', async () => {
    const editing = await openEditing(database());
    const page = await conflicted(editing, () => editing.saveAsBob(byBob));
    await typeNotes(page, 'Ring twice. Then wait.');
    await safely(page, 'draft');
    expect(editing.gateway.puts()).toHaveLength(1);
    expect(await notesOf(page)).toBe('Ring twice. Then wait.');
    expect(await editing.stored()).toEqual({ version: 2, notes: '', ...byBob });
  });

  it('keeps what is theirs, where both are saved', async () => {
    const editing = await openEditing(database());
    const page = await conflicted(editing, () => editing.saveAsBob(byBob));
    await picture(page, 'conflict-1-choose');
    await page.getByRole('radio', { name: 'Delivery 42, by ada' }).check();
    await choose(page, 'Save both');
    await shows(page, 'saved', 3);
    await picture(page, 'conflict-2-saved');
    const both = { title: 'Delivery 42, by ada', quantity: '40', notes: 'Ring twice.' };
    expect(await editing.stored()).toEqual({ version: 3, ...both });
    expect(await revision(editing, 2)).toMatchObject({ content: { attributes: byBob } });
    await reached(page, '#conflict[hidden]');
  });

  it('may be let have it, and that can be undone', async () => {
    const editing = await openEditing(database());
    const page = await conflicted(editing, () => editing.saveAsBob(byBob));
    await choose(page, 'Take theirs');
    await shows(page, 'saved', 2);
    expect(await page.getByLabel('Title').inputValue()).toBe(byBob.title);
    await choose(page, 'Undo');
    await shows(page, 'conflict');
    expect(await notesOf(page)).toBe('Ring twice.');
    expect(await editing.stored()).toMatchObject({ version: 2, ...byBob });
  });

  it('leaves room for a copy', async () => {
    const editing = await openEditing(database());
    const page = await conflicted(editing, () => editing.saveAsBob(byBob));
    await choose(page, 'Keep mine as a copy');
    await shows(page, 'saved', 2);
    const { body } = await editing.ada.call('GET', '/v1/documents');
    const names =
      (body['items'] as readonly { readonly name: string; readonly id: string }[]) ?? [];
    const copy = names.find(({ name }) => name === 'Copy of mine');
    expect(await editing.stored(copy?.id)).toMatchObject({
      ...{ version: 1, title: 'Delivery 42, by ada', notes: 'Ring twice.' },
    });
  });
});

describe('a plan that edits the open document', () => {
  const tool = toolRegistry(documentTools).find('document.edit');
  if (!tool) throw new Error('there is no such tool');

  /** Carries out one step of bob's plan; returns the plan's id. */
  async function carryOut(document: string, attributes: object): Promise<string> {
    const proposal = randomUUID();
    const people = { proposer: 'bob', approvedBy: 'ada', requestedBy: 'ada' };
    const { signal: never } = new AbortController();
    const context = { proposal, step: 0, ...people, signal: never, outputOf: () => undefined };
    const content = { attributes: { ...firstForm, ...attributes } };
    const input = tool?.input.parse({ document, base: { version: 1 }, content });
    await transaction(database(), async (tx) => tool?.run(tx, input as never, context));
    return proposal;
  }

  it('is shown at once where nobody types', async () => {
    const editing = await openEditing(database());
    const page = await editing.open(await browser.context());
    await carryOut(editing.id, { quantity: '7' });
    await shows(page, 'saved', 2);
    expect(await page.getByLabel('Quantity').inputValue()).toBe('7');
  });

  it('overwrites nobody who types, and is not overwritten', async () => {
    const editing = await openEditing(database());
    let proposal = '';
    const page = await conflicted(editing, async () => {
      proposal = await carryOut(editing.id, { quantity: '7' });
    });
    await choose(page, 'Save both');
    await shows(page, 'saved', 3);
    const both = { title: 'Delivery 42, by ada', quantity: '7', notes: 'Ring twice.' };
    expect(await editing.stored()).toEqual({ version: 3, ...both });
    expect(JSON.stringify(await revision(editing, 2))).toContain(proposal);
  });
});

describe.each(['light', 'dark'] as const)('the test page in the %s', (colorScheme) => {
  const path = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

  interface Axe {
    run(): Promise<{ readonly violations: readonly { readonly id: string }[] }>;
  }

  async function violations(page: Page): Promise<readonly string[]> {
    await page.evaluate(await readFile(path, 'utf8'));
    return await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { readonly axe: Axe };
      return (await axe.run()).violations.map(({ id }) => id);
    });
  }

  it('can be read and reached by everybody, whatever it shows', async () => {
    const { gateway, open, saveAsBob } = await openEditing(database());
    const context = await browser.context({ colorScheme });
    const page = await open(context);
    expect(await violations(page)).toEqual([]);
    const back = gateway.always(['PUT'], { type: 'cut' });
    await typeNotes(page, 'left behind');
    await safely(page, 'draft');
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await reached(page, '[data-draft] button');
    expect(await violations(page)).toEqual([]);
    await picture(page, `page-draft-${colorScheme}`);
    await saveAsBob({ notes: 'by bob' });
    back();
    await choose(page, 'Continue with it');
    await reached(page, '#conflict:not([hidden]) table');
    expect(await violations(page)).toEqual([]);
    await picture(page, `page-conflict-${colorScheme}`);
    gateway.always(['GET'], { type: 'sign-in page' });
    await page.reload();
    await shows(page, 'signed-out');
    expect(await violations(page)).toEqual([]);
    await picture(page, `page-signed-out-${colorScheme}`);
  });
});
