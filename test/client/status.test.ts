// The status that people see: the table in docs/document-session.md is the machine's own.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeStatus, statusTexts } from '../../client/words.ts';
import { documentSession } from '../../machines/document-session.ts';
import { stage } from '../support/sessions.ts';

const text = readFileSync(new URL('../../docs/document-session.md', import.meta.url), 'utf8');
const rows = [...text.matchAll(/^\| `([a-z-]+)`\s*\| ([A-Z].*?)\s*\| (`.*?)\s*\|$/gm)].map(
  ([, status = '', says = '', states = '']) => ({
    status,
    says,
    states: [...states.matchAll(/`(\w+)`/g)].map(([, state]) => state),
  }),
);

const lane = documentSession.root.states['lane'];
const states = Object.values(lane?.states ?? {});
const taggedWith = (status: string) =>
  states.filter(({ tags }) => tags.includes(status)).map(({ key }) => key);

describe('the table of statuses', () => {
  it('has every status once, with its words', () => {
    expect(Object.fromEntries(rows.map(({ status, says }) => [status, says]))).toEqual(statusTexts);
    expect(rows).toHaveLength(12);
  });

  it.each(rows.filter(({ status }) => status !== 'offline'))('says where $status is', (row) => {
    expect(row.states).toEqual(taggedWith(row.status));
  });

  it('knows every state of the lane that a session can stay in', () => {
    const staying = states.filter(({ key }) => key !== 'answered').map(({ key }) => key);
    expect(rows.flatMap((row) => (row.status === 'offline' ? [] : row.states)).toSorted()).toEqual(
      staying.toSorted(),
    );
  });
});

describe('the sentence', () => {
  it('says so where the work is in the page alone and cannot be kept elsewhere', () => {
    const [safe, draftTrouble] = ['page', 'full'] as const;
    expect(describeStatus({ status: 'conflict', safe, draftTrouble })).toBe(
      'Somebody else saved first: choose. Only in this page',
    );
    expect(describeStatus({ status: 'offline', safe, draftTrouble })).toBe(
      'Offline. Only in this page',
    );
    expect(describeStatus({ status: 'dirty', safe, draftTrouble: null })).toBe('Edited');
    expect(describeStatus({ status: 'saved', safe: 'server', draftTrouble: null })).toBe('Saved');
  });

  it('does not change while somebody types without a network', async () => {
    const at = stage();
    const { session } = await at.open();
    at.browser.goOffline();
    const said = new Set<string>();
    session.edit({ attributes: { a: 0 } });
    session.subscribe((snapshot) => said.add(describeStatus(snapshot)));
    for (let i = 1; i < 50; i += 1) {
      session.edit({ attributes: { a: i } });
      await at.advance(100);
    }
    expect([...said]).toEqual(['Offline, kept on this device']);
  });
});
