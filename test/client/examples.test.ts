// The examples of docs/document-session.md are what they claim to be: they compile against the
// packages' types, and a session keeps the contract of Svelte's stores.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { attributes, stage } from '../support/sessions.ts';

const page = readFileSync('docs/document-session.md', 'utf8');
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, code = '']) => code,
  );

/** What the page around an example has. */
const surroundings = `
  declare const id: string, authorization: string;
  declare const dialog: HTMLDialogElement, field: HTMLInputElement, line: HTMLElement;
`;
const around = `
  declare const options: import('fencepost/client').OpenOptions;
`;

const entries = {
  ...{ client: 'client/index.ts', 'client/words': 'client/words.ts' },
  ...{ 'client/testing': 'client/testing/index.ts', 'kinds/record': 'kinds/record.ts' },
};

// Beside the packages, so that those are found.
mkdirSync('node_modules/.cache', { recursive: true });
const folder = mkdtempSync(join('node_modules/.cache', 'examples-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the examples', () => {
  it('compile: a plain page, React, a test of an editor', () => {
    const [plain = '', test = '', ...others] = blocks('ts');
    const [react = '', ...more] = blocks('tsx');
    expect([others, more, blocks('svelte').length]).toEqual([[], [], 1]);
    writeFileSync(join(folder, 'plain.ts'), surroundings + plain);
    writeFileSync(join(folder, 'react.tsx'), react);
    writeFileSync(join(folder, 'test.ts'), test + around);
    const paths = Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [`fencepost/${name}`, [`../../../${file}`]]),
    );
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../../tsconfig.json',
        // A hook may be told which dependencies it has; examples leave names for their reader.
        compilerOptions: { paths, noUnusedLocals: false, types: ['react'] },
        include: ['*.ts', '*.tsx'],
      }),
    );
    // It prints what does not compile, and ends with an error then.
    const printed = execFileSync('npx', ['tsc', '--project', folder], { encoding: 'utf8' });
    expect(printed).toBe('');
  });
});

describe('a session as a store of Svelte', () => {
  it('calls at once, then at every change, and no more when it is unsubscribed', async () => {
    const at = stage();
    const { session } = await at.open();
    const seen: unknown[] = [];
    const unsubscribe = session.subscribe(({ content }) => seen.push(content));
    expect(seen).toEqual([attributes({ a: 0 })]);
    session.edit(attributes({ a: 1 }));
    expect(seen.at(-1)).toEqual(attributes({ a: 1 }));
    unsubscribe();
    const { length } = seen;
    session.edit(attributes({ a: 2 }));
    expect(seen).toHaveLength(length);
  });

  it('gives the value that it has to whoever comes later', async () => {
    const at = stage();
    const { session } = await at.open();
    session.edit(attributes({ a: 1 }));
    let seen: unknown;
    session.subscribe((snapshot) => {
      seen = snapshot;
    })();
    expect(seen).toBe(session.getSnapshot());
  });

  it('is read before the first version is there, as its example does', () => {
    const at = stage();
    const session = at.openNow(at.browser.openPage());
    let content: unknown = 'none';
    session.subscribe((snapshot) => {
      content = (snapshot.content as { text?: string } | null)?.text;
    })();
    expect(content).toBeUndefined();
  });
});
