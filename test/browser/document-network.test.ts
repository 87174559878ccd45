// A document that is edited in a real browser while the network does what networks do.

import { describe, expect, it } from 'vitest';
import {
  notesOf,
  openEditing,
  reached,
  safely,
  shows,
  statusesOf,
  typeNotes,
} from '../support/editing.ts';
import { useOpened } from '../support/opened.ts';
import { useBrowser } from '../support/pages.ts';
import { signal } from '../support/signal.ts';

const browser = useBrowser();
const database = useOpened();

describe('an answer that is lost', () => {
  it('is asked for again by the browser itself, and the save is one version', async () => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.method()));
    gateway.next('PUT', { type: 'lose answer' });
    await typeNotes(page, 'Leave it at the door.');
    await shows(page, 'saved', 2);
    expect(sent.filter((method) => method === 'PUT')).toHaveLength(1);
    const [first, second, ...more] = gateway.puts();
    expect(second?.text).toBe(first?.text);
    expect(more).toEqual([]);
    expect(await stored()).toMatchObject({ version: 2, notes: 'Leave it at the door.' });
    expect(await statusesOf(page)).toEqual(['loading', 'saved', 'dirty', 'saving', 'saved']);
  });

  it('is not taken for a success where half a head came', async () => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    gateway.next('PUT', { type: 'half a head' });
    await typeNotes(page, 'Ring twice.');
    await shows(page, 'saved', 2);
    expect(await statusesOf(page)).toContain('unconfirmed');
    expect(await statusesOf(page)).not.toContain('conflict');
    expect(await stored()).toMatchObject({ version: 2, notes: 'Ring twice.' });
  });

  it('leaves typing alone that went on meanwhile', async () => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    const go = signal();
    gateway.next('PUT', { type: 'answer late', until: go.given });
    await typeNotes(page, 'one');
    await gateway.arrived('PUT', 1);
    await typeNotes(page, 'one two');
    go.give();
    await shows(page, 'saved', 3);
    expect(await notesOf(page)).toBe('one two');
    expect(await stored()).toMatchObject({ version: 3, notes: 'one two' });
  });
});

describe('a browser that goes offline', () => {
  it('keeps what is typed, and saves it when it is back, without another edit', async () => {
    const { gateway, stored, open } = await openEditing(database());
    const context = await browser.context();
    const page = await open(context);
    await context.setOffline(true);
    await typeNotes(page, 'From the tunnel.');
    await shows(page, 'offline');
    await safely(page, 'draft');
    expect(gateway.puts()).toEqual([]);
    await context.setOffline(false);
    await shows(page, 'saved', 2);
    expect(await stored()).toMatchObject({ version: 2, notes: 'From the tunnel.' });
  });

  it('hears, when it is back, what others saved', async () => {
    const { saveAsBob, open } = await openEditing(database());
    const context = await browser.context();
    const page = await open(context);
    await context.setOffline(true);
    await saveAsBob({ title: 'By bob' });
    await context.setOffline(false);
    await shows(page, 'saved', 2);
    expect(await page.getByLabel('Title').inputValue()).toBe('By bob');
  });
});

describe('a sign-in page in the place of an answer', () => {
  it.each([
    ['by a redirect', 'redirect to sign-in'],
    ['with status 200', 'sign-in page'],
  ] as const)('%s is no success: the work waits for the same person', async (_, type) => {
    const { gateway, stored, open } = await openEditing(database());
    const page = await open(await browser.context());
    const signIn = gateway.always(['GET', 'PUT'], { type });
    await typeNotes(page, 'Before lunch.');
    await shows(page, 'signed-out');
    await safely(page, 'draft');
    await typeNotes(page, 'Before lunch, or after.');
    signIn();
    gateway.signIn('bob');
    await page.getByRole('button', { name: 'I have signed in' }).click();
    await page.getByText('This is the work of ada').waitFor();
    expect(await stored()).toMatchObject({ version: 1 });
    gateway.signIn('ada');
    await page.getByRole('button', { name: 'I have signed in' }).click();
    await shows(page, 'saved');
    expect(await stored()).toMatchObject({ notes: 'Before lunch, or after.' });
    await reached(page, '#sign-in[hidden]');
  });

  it('offers nobody the draft of somebody else', async () => {
    const { gateway, id, open } = await openEditing(database());
    const context = await browser.context();
    const page = await open(context);
    const served = gateway.always(['PUT'], { type: 'cut' });
    await typeNotes(page, 'Mine alone.');
    await safely(page, 'draft');
    await page.close();
    served();
    gateway.signIn('bob');
    const other = await open(context, id);
    const drafts = await other.evaluate(() => globalThis.editor.session.getSnapshot().siblings);
    expect(drafts).toEqual([]);
    expect(await other.content()).not.toContain('Mine alone.');
  });
});
